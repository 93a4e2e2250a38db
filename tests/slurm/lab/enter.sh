#!/bin/bash
# usage: enter.sh PID CGROUP COMMAND [ARG]...    runs a command on the machine whose first process is PID
set -euo pipefail

main() {
  local pid=$1 cgroup=$2 dir
  shift 2
  for dir in /sys/fs/cgroup/*/"$cgroup"; do
    echo $$ >"$dir/cgroup.procs"
  done
  exec nsenter --target "$pid" --mount --uts --net --pid --cgroup --root --wd "$@"
}

main "$@"
