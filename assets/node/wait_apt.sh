#!/bin/bash
# usage: wait_apt.sh SECONDS    waits until nothing else installs packages
#
# unattended-upgrades runs at a node's first boot, and holds the lock for minutes.
set -euo pipefail
# shellcheck source=assets/node/common.sh
source "$(dirname "$0")/common.sh"

readonly LOCKS=(/var/lib/dpkg/lock-frontend /var/lib/dpkg/lock /var/lib/apt/lists/lock /var/cache/apt/archives/lock)

main() {
  local seconds=$1
  local end=$((SECONDS + seconds)) lock
  for lock in "${LOCKS[@]}"; do
    [[ -e $lock ]] || continue
    until free "$lock"; do
      ((SECONDS < end)) || fail "$lock is held after $seconds s by $(holder "$lock")"
      sleep 1
    done
  done
  # An installation that was cut off is finished first; apt refuses to work before.
  if [[ -n $(dpkg --audit) ]]; then
    dpkg --configure -a
  fi
  echo "wait_apt: free"
}

# dpkg and apt lock with fcntl, which flock(1) does not see.
free() {
  python3 -c '
import fcntl, sys
with open(sys.argv[1], "r+b") as lock:
    try:
        fcntl.lockf(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        sys.exit(1)' "$1"
}

holder() {
  local inode pid
  inode=$(stat -c %i "$1")
  pid=$(awk -v inode="$inode" '{n = split($6, part, ":")} part[n] == inode {print $5; exit}' /proc/locks)
  if [[ -n $pid && -r /proc/$pid/cmdline ]]; then
    echo "process $pid: $(tr '\0' ' ' <"/proc/$pid/cmdline")"
  else
    echo "process ${pid:-unknown}"
  fi
}

main "$@"
