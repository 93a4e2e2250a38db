#!/bin/bash
# usage: slurmctld.sh CLUSTER POLICY_JSON    registers the cluster, applies the policy and starts slurmctld
#
# slurmctld does not start when a partition names a QOS that the database lacks, and the database
# learns of GPUs only from slurmctld. So the policy is applied before, and once more after.
set -euo pipefail
# shellcheck source=assets/node/common.sh
source "$(dirname "$0")/common.sh"

readonly STATE=/state/slurmctld

answers() {
  grep -q "is UP" <<<"$(scontrol ping)"
}

wait_for_answer() {
  retry 120 answers ||
    fail "slurmctld does not answer: $(tail -n 3 /var/log/slurm/slurmctld.log | paste -s -d ' ')"
}

main() {
  local cluster=$1 policy=$2
  install -d -m 0755 -o slurm -g slurm /var/log/slurm
  if ! grep -qx "$cluster" <<<"$(sacctmgr --noheader --parsable2 show cluster "$cluster" format=Cluster)"; then
    sacctmgr --immediate add cluster "$cluster" >/dev/null
  fi
  apply "$policy"
  write_file /etc/systemd/system/slurmctld.service.d/trainshed.conf 0644 root slurmctld.service <<UNIT
[Unit]
AssertPathIsMountPoint=/state
Wants=slurmdbd.service
After=slurmdbd.service munge.service

[Service]
ExecStartPre=-+/opt/trainshed/current/unsaved_state.sh $STATE $cluster
Restart=on-failure
RestartSec=5
UNIT
  ensure_running slurmctld.service
  wait_for_answer
  save_first_state
  apply "$policy"
  echo "slurmctld: up, with the policy applied"
}

# From 25.05 on slurmctld does not start on a state that is saved in part (unsaved_state.sh). It saves jobs
# and nodes as they change, all the rest every five minutes, and everything when it ends.
save_first_state() {
  local release
  release=$(slurmctld -V | sed -E 's/.* ([0-9]+)\..*/\1/')
  if [[ ! -e $STATE/assoc_usage ]] && ((release >= 25)); then
    make_note slurmctld.service
    ensure_running slurmctld.service
    wait_for_answer
  fi
}

apply() {
  python3 "$(dirname "$0")/slurm_accounts.py" apply "$1" || fail "the policy cannot be applied, see above"
}

main "$@"
