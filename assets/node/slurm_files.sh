#!/bin/bash
# usage: slurm_files.sh FILES_DIR [containers]    puts slurm.conf, gres.conf, cgroup.conf and Pyxis's line under /etc/slurm
#
# On a head node whose slurmctld runs, nothing is changed here: the keeper tries new files first.
set -euo pipefail
# shellcheck source=assets/node/common.sh
source "$(dirname "$0")/common.sh"

main() {
  local files=$1 name
  if systemctl is-active --quiet slurmctld.service; then
    echo "slurm_files: slurmctld runs; the keeper brings changes to it"
    return
  fi
  for name in slurm.conf gres.conf cgroup.conf; do
    write_file "/etc/slurm/$name" 0644 root <"$files/$name"
  done
  # Nodes without files of their own fetch this one too. A plugin that is named and not there is
  # complained of at every srun.
  if [[ ${2:-} != containers ]]; then
    rm -f /etc/slurm/plugstack.conf
    echo "slurm_files: /etc/slurm is as deployed"
    return
  fi
  write_file /etc/slurm/plugstack.conf 0644 root <<<"optional /usr/local/lib/slurm/spank_pyxis.so runtime_path=/run/pyxis execute_entrypoint=0"
  echo "slurm_files: /etc/slurm is as deployed"
}

main "$@"
