#!/bin/bash
# usage: watch_service.sh [HEAD_HOST NODE_NAME]    a timer that follows the fleet: a new head node, a changed document
set -euo pipefail
# shellcheck source=assets/node/common.sh
source "$(dirname "$0")/common.sh"

main() {
  write_file /etc/systemd/system/trainshed-watch.service 0644 root trainshed-watch.timer <<UNIT
[Unit]
Description=Follow the fleet: the head node's address, the fleet document

[Service]
Type=oneshot
ExecStart=/opt/trainshed/current/watch.sh $*
UNIT
  # Spread over half a minute, so that a thousand nodes do not ask at once.
  write_file /etc/systemd/system/trainshed-watch.timer 0644 root trainshed-watch.timer <<'UNIT'
[Unit]
Description=Follow the fleet every half minute

[Timer]
OnActiveSec=30
OnUnitInactiveSec=30
RandomizedDelaySec=15

[Install]
WantedBy=timers.target
UNIT
  ensure_running trainshed-watch.timer
  systemctl is-enabled --quiet trainshed-watch.timer || systemctl enable --quiet trainshed-watch.timer
  echo "watch_service: on"
}

main "$@"
