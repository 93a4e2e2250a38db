#!/bin/bash
# usage: training_environment.sh efa|no-efa nvlink|no-nvlink    what NCCL and libfabric need, for every job
#
# A job's own value wins. Neither the interface's name nor what current plugins find out is written
# down: FI_PROVIDER, NCCL_PROTO and FI_EFA_USE_DEVICE_RDMA belong to plugins of before 2023.
set -euo pipefail
# shellcheck source=assets/node/common.sh
source "$(dirname "$0")/common.sh"

# Where images have put the NCCL plugin for libfabric.
readonly PLUGINS=(/opt/amazon/ofi-nccl/lib/x86_64-linux-gnu /opt/amazon/ofi-nccl/lib /opt/amazon/aws-ofi-nccl/lib /opt/aws-ofi-nccl/lib)

main() {
  local efa=$1 nvlink=$2
  lines "$efa" "$nvlink" | write_file /etc/trainshed/training.env 0644 root
  # task_prolog.sh gives it to tasks. Enroot's own prevail over those of an image.
  if [[ -d /etc/enroot/environ.d ]]; then
    lines "$efa" "$nvlink" | of_containers | write_file /etc/enroot/environ.d/50-trainshed.env 0644 root
    write_file /etc/enroot/hooks.d/50-trainshed.sh 0755 root <"$(dirname "$0")/enroot_environment.sh"
  fi
  echo "training_environment: $(paste -s -d ' ' /etc/trainshed/training.env)"
}

# An image has libraries of its own, and its path to them: those of the node are not in a container.
of_containers() {
  sed '/^LD_LIBRARY_PATH=/d'
}

lines() {
  local efa=$1 nvlink=$2 dir
  # Every interface but loopback and those of containers.
  echo "NCCL_SOCKET_IFNAME=^lo,docker,veth"
  if [[ $efa == efa ]]; then
    echo "FI_EFA_USE_HUGE_PAGE=0"
    for dir in "${PLUGINS[@]}"; do
      if compgen -G "$dir/libnccl-net*.so*" >/dev/null; then
        echo "LD_LIBRARY_PATH=$dir:/opt/amazon/efa/lib"
        break
      fi
    done
  fi
  # L4 and A10G talk over PCIe, where peer-to-peer stalls under virtualisation.
  if [[ $nvlink == no-nvlink ]]; then
    echo "NCCL_P2P_DISABLE=1"
  fi
}

main "$@"
