#!/bin/bash
# usage: exclude_needrestart.sh
#
# needrestart restarts slurmd after an update of a library, and its jobs die with it. The daemons of
# the cluster are left alone, and nothing asks questions.
set -euo pipefail
# shellcheck source=assets/node/common.sh
source "$(dirname "$0")/common.sh"

main() {
  write_file /etc/needrestart/conf.d/90-trainshed.conf 0644 root <<'CONF'
# Made by trainshed: a restart of these ends jobs.
$nrconf{restart} = 'l';
$nrconf{kernelhints} = 0;
$nrconf{override_rc}{qr(^slurm)} = 0;
$nrconf{override_rc}{qr(^munge)} = 0;
$nrconf{override_rc}{qr(^mariadb)} = 0;
$nrconf{override_rc}{qr(^nvidia-fabricmanager)} = 0;
$nrconf{override_rc}{qr(^trainshed)} = 0;
CONF
  echo "exclude_needrestart: the cluster's daemons are left alone"
}

main "$@"
