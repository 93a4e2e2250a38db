#!/bin/bash
# usage: enroot_environment.sh    Enroot's hook: what NCCL and libfabric need, in every container
#
# Pyxis has a container's values prevail over those of the job, so those of the job are written here
# where it has any: the job's before the node's, the node's before an image's. Enroot gives a hook the
# job's environment and the file's name (enroot 4.1.2, src/runtime.sh; pyxis 0.24.0,
# pyxis_slurmstepd.c; read 2026-11-30).
set -euo pipefail

readonly FILE=/etc/trainshed/training.env

main() {
  local name value
  [[ -r $FILE ]] || return 0
  while IFS='=' read -r name value; do
    # An image has libraries of its own, and its path to them: those of the node are not in a container.
    if [[ $name != LD_LIBRARY_PATH ]]; then
      echo "$name=${!name-$value}" >>"$ENROOT_ENVIRON"
    fi
  done <"$FILE"
}

main "$@"
