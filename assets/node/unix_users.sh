#!/bin/bash
# usage: unix_users.sh POLICY_JSON HOME_ROOT    the policy's users with their uids, the same on each node
#
# Homes are below HOME_ROOT/home, on the shared file system; empty: /home of the node. A user who has
# left the policy keeps files and uid, and cannot run jobs.
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
  found=$(getent passwd "$uid" | cut -d: -f1 || true)
  [[ -z $found || $found == "$name" ]] || fail "uid $uid of $name is ${found}'s on this image"
  if found=$(getent passwd "$name"); then
    [[ $(cut -d: -f3 <<<"$found") == "$uid" ]] ||
      fail "$name has the uid $(cut -d: -f3 <<<"$found") on this image and not $uid"
  else
    groupadd --gid "$uid" "$name" 2>/dev/null || getent group "$name" >/dev/null ||
      fail "the group id $uid of $name is taken"
    useradd --uid "$uid" --gid "$name" --home-dir "$home" --no-create-home --shell /bin/bash "$name"
  fi
  # Another node may make it at the same time.
  if [[ ! -d $home ]]; then
    mkdir -p "$home"
    chown "$uid:$name" "$home"
    chmod 0750 "$home"
  fi
}

main "$@"
