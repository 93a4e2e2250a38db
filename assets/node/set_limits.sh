#!/bin/bash
# usage: set_limits.sh
#
# EFA registers memory with the network card, so a job may lock all it has. EFA's installer reserves
# huge pages; data loaders that fork run out of them, so libfabric does not use any
# (training_environment.sh).
set -euo pipefail
# shellcheck source=assets/node/common.sh
source "$(dirname "$0")/common.sh"

main() {
  write_file /etc/security/limits.d/90-trainshed.conf 0644 root <<'LIMITS'
* - memlock unlimited
* - nofile 1048576
* - stack unlimited
LIMITS
  write_file /etc/sysctl.d/90-trainshed.conf 0644 root sysctl <<'SYSCTL'
# Peak connections of NCCL's bootstrap, of slurmctld and of data loaders.
net.core.somaxconn = 4096
net.ipv4.tcp_max_syn_backlog = 4096
# A node of eight ranks and their loaders maps more files than the default allows.
vm.max_map_count = 1048576
SYSCTL
  if noted sysctl; then
    sysctl --quiet --load=/etc/sysctl.d/90-trainshed.conf ||
      echo "set_limits: this kernel does not take every setting" >&2
    settle sysctl
  fi
  echo "set_limits: memory may be locked"
}

main "$@"
