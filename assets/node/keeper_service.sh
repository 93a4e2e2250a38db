#!/bin/bash
# usage: keeper_service.sh    the keeper of the fleet, as a service of the head node
set -euo pipefail
# shellcheck source=assets/node/common.sh
source "$(dirname "$0")/common.sh"

main() {
  write_file /etc/systemd/system/trainshed-keeper.service 0644 root trainshed-keeper.service <<'UNIT'
[Unit]
Description=Keeper of the fleet: applies changes, replaces nodes, reports
Wants=network-online.target
After=network-online.target munge.service slurmctld.service

[Service]
EnvironmentFile=/etc/trainshed/node.env
Environment=PYTHONDONTWRITEBYTECODE=1
ExecStart=/usr/bin/python3 /opt/trainshed/current/keeper
Restart=always
RestartSec=5
UNIT
  # Another release of its program restarts it, too.
  readlink /opt/trainshed/current | write_file /run/trainshed/keeper-scripts 0644 root trainshed-keeper.service
  ensure_running trainshed-keeper.service
  echo "keeper_service: running"
}

main "$@"
