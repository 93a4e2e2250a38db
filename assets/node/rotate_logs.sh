#!/bin/bash
# usage: rotate_logs.sh    lets logrotate keep /var/log/trainshed small
#
# A step's log grows at each boot and at each change of the fleet. Logs of Slurm, munge and MariaDB have
# rules of their own packages.
set -euo pipefail
# shellcheck source=assets/node/common.sh
source "$(dirname "$0")/common.sh"

main() {
  # The CloudWatch agent follows a log by its name. Copied and not moved: a boot that runs writes on.
  write_file /etc/logrotate.d/trainshed 0644 root <<'RULE'
/var/log/trainshed/*.log {
  su root root
  weekly
  maxsize 20M
  rotate 4
  compress
  copytruncate
  missingok
  notifempty
}
RULE
  echo "rotate_logs: on"
}

main "$@"
