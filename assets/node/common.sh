#!/bin/bash
# usage: source common.sh    what the steps of a node's boot share
#
# CHANGED is yes once write_file has changed something: a daemon is restarted then, and only then.
# shellcheck disable=SC2034 # read by the scripts that source this
CHANGED=no

# usage: write_file PATH MODE OWNER < TEXT    a file that is as it should be keeps its time
write_file() {
  # One name, so that a boot that is killed leaves nothing that the next one does not take up.
  local path=$1 mode=$2 owner=$3 new=$1.new
  mkdir -p "${path%/*}"
  rm -f "$new"
  (umask 077 && cat >"$new")
  chmod "$mode" "$new"
  chown "$owner:" "$new"
  if [[ -f $path && $(stat -c '%a %U' "$path") == "${mode#0} $owner" ]] && cmp -s "$new" "$path"; then
    rm "$new"
  else
    mv -T "$new" "$path"
    CHANGED=yes
  fi
}

# usage: ensure_running UNIT    starts a daemon, or restarts it after a change of its files
ensure_running() {
  local action=start
  if [[ $CHANGED == yes ]]; then
    systemctl daemon-reload
    action=restart
  fi
  systemctl "$action" "$1" || fail "$1 does not start: $(journalctl -u "$1" -n 3 -o cat --no-pager | paste -s -d ' ')"
}

# usage: retry SECONDS COMMAND [ARG]...    until it succeeds; its last words are printed when it does not
retry() {
  local end=$((SECONDS + $1)) said
  shift
  until said=$("$@" 2>&1); do
    if ((SECONDS >= end)); then
      printf '%s\n' "$said" >&2
      return 1
    fi
    sleep 0.5
  done
}

# usage: apt_get ARG...    waits for another apt, tries again, asks nothing
apt_get() {
  DEBIAN_FRONTEND=noninteractive apt-get --quiet=2 --yes -o DPkg::Lock::Timeout=300 \
    -o Acquire::Retries=3 -o Dpkg::Use-Pty=0 "$@"
}

fail() {
  echo "$(basename "$0" .sh): $*" >&2
  exit 1
}
