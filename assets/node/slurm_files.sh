#!/bin/bash
# usage: slurm_files.sh FILES_DIR [containers]    puts slurm.conf, gres.conf, cgroup.conf and Pyxis's line under /etc/slurm
#
# On a head node whose slurmctld runs, nothing is changed here: the keeper tries new files first. So it does
# where jobs may run in a partition that is not in them any more, which slurmctld would end.
set -euo pipefail
# shellcheck source=assets/node/common.sh
source "$(dirname "$0")/common.sh"

readonly KEPT=/state/slurm APPLIED=/var/lib/trainshed/applied
readonly NAMES=(slurm.conf gres.conf cgroup.conf)

main() {
  local files=$1 name lost
  if systemctl is-active --quiet slurmctld.service; then
    echo "slurm_files: slurmctld runs; the keeper brings changes to it"
    return
  fi
  lost=$(comm -23 <(partitions "$KEPT") <(partitions "$files") | paste -s -d ,)
  if [[ -n $lost ]] && taken "$lost" "$files"; then
    echo "slurm_files: partition $lost stays for now; the keeper takes it away when no job runs in it"
    rm -f "$APPLIED"
    files=$KEPT
  fi
  for name in "${NAMES[@]}"; do
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

# Another release of Slurm may not take the files of the one before. Where that cannot be told, the boot
# ends and is tried again: the partition would go with its jobs.
taken() {
  local lost=$1 files=$2 name code=0
  # Only a person takes one of them away.
  for name in "${NAMES[@]}"; do
    [[ -e $KEPT/$name ]] ||
      fail "partition $lost is kept in $KEPT/slurm.conf, and $KEPT/$name is missing; put it back (cp $files/$name $KEPT/), or take slurm.conf away there if no job runs in $lost, and start trainshed-boot again"
  done
  "$(dirname "$0")/dry_run.sh" "$KEPT" || code=$?
  ((code < 2)) ||
    fail "partition $lost is kept in $KEPT, and whether this Slurm takes the files there could not be tried, see above: make room in /tmp and memory, it is tried again in 5 minutes; or take slurm.conf away there if no job runs in $lost"
  ((code == 0))
}

# As apply.py's partitions.
partitions() {
  [[ -e $1/slurm.conf ]] || return 0
  sed -nE 's/^[[:space:]]*PartitionName=([^[:space:],]+).*/\1/Ip' "$1/slurm.conf" | { grep -vix default || true; } | sort -u
}

main "$@"
