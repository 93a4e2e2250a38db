#!/bin/bash
# usage: slurm_files.sh FILES_DIR [containers]    puts slurm.conf, gres.conf, cgroup.conf and Pyxis's line under /etc/slurm
#
# On a head node whose slurmctld runs, nothing is changed here: the keeper tries new files first. So it does
# where jobs may run in a partition that is not in them any more, which slurmctld would end.
set -euo pipefail
# shellcheck source=assets/node/common.sh
source "$(dirname "$0")/common.sh"

readonly KEPT=/state/slurm APPLIED=/var/lib/trainshed/applied

main() {
  local files=$1 name lost
  if systemctl is-active --quiet slurmctld.service; then
    echo "slurm_files: slurmctld runs; the keeper brings changes to it"
    return
  fi
  lost=$(comm -23 <(partitions "$KEPT") <(partitions "$files") | paste -s -d ,)
  # Another release of Slurm may not take the files of the one before.
  if [[ -n $lost ]] && "$(dirname "$0")/dry_run.sh" "$KEPT"; then
    echo "slurm_files: partition $lost stays for now; the keeper takes it away when no job runs in it"
    rm -f "$APPLIED"
    files=$KEPT
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

partitions() {
  [[ -e $1/slurm.conf ]] || return 0
  sed -nE 's/^[[:space:]]*PartitionName=([^[:space:],]+).*/\1/Ip' "$1/slurm.conf" | sort -u
}

main "$@"
