#!/bin/bash
# usage: goodput_timers.sh    tells the goodput of the last week: a metric each hour, a digest on Mondays
#
# ROOT_DIR stands before every path that is written; empty on a node.
set -euo pipefail
# shellcheck source=assets/node/common.sh
source "$(dirname "$0")/common.sh"

main() {
  timer hourly "" hourly
  timer weekly " --weekly" "Mon 07:00 UTC"
  echo "goodput_timers: on"
}

# usage: timer NAME ARGUMENT WHEN
timer() {
  local unit="trainshed-goodput-$1" units="${ROOT_DIR:-}/etc/systemd/system"
  write_file "$units/$unit.service" 0644 root "$unit.timer" <<UNIT
[Unit]
Description=Goodput of the last week

[Service]
Type=oneshot
Environment=PYTHONDONTWRITEBYTECODE=1 PYTHONPATH=${ROOT_DIR:-}/opt/trainshed/current
Environment=PATH=${ROOT_DIR:-}/opt/trainshed/bin:/opt/slurm/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
ExecStart=/usr/bin/env python3 -m keeper.recovery goodput$2
UNIT
  write_file "$units/$unit.timer" 0644 root "$unit.timer" <<UNIT
[Unit]
Description=Goodput of the last week

[Timer]
OnCalendar=$3

[Install]
WantedBy=timers.target
UNIT
  ensure_running "$unit.timer"
  systemctl is-enabled --quiet "$unit.timer" || systemctl enable --quiet "$unit.timer"
}

main "$@"
