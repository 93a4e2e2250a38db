#!/bin/bash
# usage: recovery_service.sh    holding, gate and mending of nodes, as a service of the head node
set -euo pipefail
# shellcheck source=assets/node/common.sh
source "$(dirname "$0")/common.sh"

main() {
  write_file /etc/systemd/system/trainshed-recovery.service 0644 root trainshed-recovery.service <<'UNIT'
[Unit]
Description=Releases nodes that passed their checks, runs the gate, mends what fails
After=network-online.target munge.service slurmctld.service

[Service]
EnvironmentFile=/etc/trainshed/node.env
Environment=PYTHONDONTWRITEBYTECODE=1 PYTHONPATH=/opt/trainshed/current
ExecStart=/usr/bin/python3 -m keeper.recovery
Restart=always
RestartSec=5
UNIT
  write_file /usr/local/sbin/trainshed-gate 0755 root <<'PROGRAM'
#!/bin/sh
PYTHONPATH=/opt/trainshed/current exec python3 -m keeper.recovery gate "$@"
PROGRAM
  bash "$(dirname "$0")/goodput_timers.sh"
  # Another release of its program restarts it, too.
  readlink /opt/trainshed/current | write_file /run/trainshed/recovery-scripts 0644 root trainshed-recovery.service
  ensure_running trainshed-recovery.service
  echo "recovery_service: running"
}

main "$@"
