#!/bin/bash
# usage: node_gate.sh NODE_NAME [LEVEL]    a timer that has a held node checked, so that it is released
#
# The checks of minutes go on after the boot, which does not wait for them.
set -euo pipefail
# shellcheck source=assets/node/common.sh
source "$(dirname "$0")/common.sh"

main() {
  local node=$1 level=${2:-basic}
  write_file /etc/systemd/system/trainshed-node-gate.service 0644 root trainshed-node-gate.timer <<UNIT
[Unit]
Description=Check this node while it is held
After=slurmd.service

[Service]
Type=oneshot
ExecStart=/usr/bin/python3 /opt/trainshed/current/node_gate.py $node $level
UNIT
  write_file /etc/systemd/system/trainshed-node-gate.timer 0644 root trainshed-node-gate.timer <<'UNIT'
[Unit]
Description=Check this node while it is held, every minute

[Timer]
OnActiveSec=1
OnUnitInactiveSec=60

[Install]
WantedBy=timers.target
UNIT
  ensure_running trainshed-node-gate.timer
  systemctl is-enabled --quiet trainshed-node-gate.timer || systemctl enable --quiet trainshed-node-gate.timer
  echo "node_gate: on, with the $level checks"
}

main "$@"
