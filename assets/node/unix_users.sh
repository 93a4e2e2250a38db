#!/bin/bash
# usage: unix_users.sh POLICY_JSON HOME_ROOT    the policy's users with their uids, the same on each node
#
# Homes are below HOME_ROOT/home, on the shared file system; empty: /home of the node. A user who has
# left the policy keeps files, and the uid on nodes that run.
set -euo pipefail
# shellcheck source=assets/node/common.sh
source "$(dirname "$0")/common.sh"

main() {
  local policy=$1 homes=$2/home name uid count=0
  mkdir -p "$homes"
  while read -r name uid; do
    add_user "$name" "$uid" "$homes/$name"
    count=$((count + 1))
  done < <(users "$policy")
  echo "unix_users: $count users"
}

users() {
  python3 -c '
import json, sys
for name, user in sorted(json.load(open(sys.argv[1]))["users"].items()):
    if user.get("uid") is not None:
        print(name, user["uid"])' "$1"
}

add_user() {
  local name=$1 uid=$2 home=$3 found
  remove_half_user "$uid" "$name"
  found=$(getent passwd "$uid" | cut -d: -f1 || true)
  [[ -z $found || $found == "$name" ]] || fail "uid $uid of $name is ${found}'s on this image"
  if found=$(getent passwd "$name"); then
    [[ $(cut -d: -f3 <<<"$found") == "$uid" ]] ||
      fail "$name has the uid $(cut -d: -f3 <<<"$found") on this image and not $uid"
  else
    make_note "user-$name"
    groupadd --gid "$uid" "$name" 2>/dev/null || getent group "$name" >/dev/null ||
      fail "the group id $uid of $name is taken"
    useradd --uid "$uid" --gid "$name" --home-dir "$home" --no-create-home --shell /bin/bash "$name"
    settle "user-$name"
  fi
  [[ -d $home ]] || make_home "$uid" "$name" "$home"
}

# useradd writes one file after the other, and a user who is in some of them is none.
remove_half_user() {
  local uid=$1 name=$2 file
  noted "user-$name" || return 0
  # What it had not renamed yet, and its locks.
  rm -f /etc/{passwd,shadow,group,gshadow,subuid,subgid}{+,.lock,.[0-9]*}
  for file in /etc/shadow /etc/gshadow /etc/subuid /etc/subgid; do
    if [[ -f $file ]] && ! grep -q "^$name:" "$file"; then
      userdel "$name" 2>/dev/null || true
      if [[ $(getent group "$name" | cut -d: -f3) == "$uid" ]]; then
        groupdel "$name" 2>/dev/null || true
      fi
      break
    fi
  done
  settle "user-$name"
}

# Under another name until it is the user's. Another node may make it at the same time.
make_home() {
  local uid=$1 name=$2 home=$3 new
  new=${home%/*}/.$name-$HOSTNAME
  mkdir -p "$new"
  chown "$uid:$name" "$new"
  chmod 0750 "$new"
  mv -T --no-clobber "$new" "$home" || true
  [[ ! -d $new ]] || rmdir "$new"
  [[ -d $home ]] || fail "$home cannot be made"
}

main "$@"
