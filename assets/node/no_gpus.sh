#!/bin/bash
# usage: no_gpus.sh GRES_CONF    for a node without GPUs in a cluster that has nodes with some
#
# All nodes that join fetch one gres.conf, and slurmd ends where a device that it names is missing, on
# a node without GPUs as well. So the names are there, under NVIDIA's number, which no driver serves:
# a program that opens one is told that there is no such device. Slurm ignores GPUs that a node does
# not tell it of.
set -euo pipefail
# shellcheck source=assets/node/common.sh
source "$(dirname "$0")/common.sh"

readonly DEV_DIR="${DEV_DIR:-/dev}" NVIDIA_MAJOR=195

main() {
  local conf=$1 last number
  [[ -f $conf ]] || fail "$conf is not there"
  # Either /dev/nvidia0 or /dev/nvidia[0-7].
  last=$(sed -nE 's:.* File=/dev/nvidia\[?(0-)?([0-9]+)\]?$:\2:p' "$conf" | sort -n | tail -n 1)
  for ((number = 0; number <= ${last:--1}; number++)); do
    [[ -e $DEV_DIR/nvidia$number ]] || mknod -m 0600 "$DEV_DIR/nvidia$number" c "$NVIDIA_MAJOR" "$number"
  done
  echo "no_gpus: $number names of devices are there"
}

main "$@"
