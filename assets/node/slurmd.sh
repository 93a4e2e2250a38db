#!/bin/bash
# usage: slurmd.sh NODE_NAME HEAD_HOST NODE_CONF    joins this node to the cluster under its name
#
# The node is dynamic and without files of its own: it tells slurmctld its hardware and fetches the
# configuration from there. A restart of slurmd leaves running jobs alone.
set -euo pipefail
# shellcheck source=assets/node/common.sh
source "$(dirname "$0")/common.sh"

readonly PORT=6817 WAIT_SECONDS=60 LOG=/var/log/slurm/slurmd.log

main() {
  local name=$1 host=$2 conf=$3
  # Slurm 22.05 runs without it; 23.11 logs and spools there.
  install -d -m 0755 -o slurm -g slurm /var/log/slurm
  install -d -m 0755 /var/spool/slurmd
  write_file /etc/default/slurmd 0644 root <<OPTIONS
SLURMD_OPTIONS="-Z -N $name --conf-server $host:$PORT --conf '$conf'"
OPTIONS
  write_file /etc/systemd/system/slurmd.service.d/trainshed.conf 0644 root <<'UNIT'
[Unit]
# The package's unit wants a file that a node without files does not have.
ConditionPathExists=
Requires=munge.service
After=munge.service nvidia-fabricmanager.service

[Service]
# Enroot's hooks look for scontrol, jobs for the tools of EFA.
Environment=PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin:/opt/amazon/efa/bin
LimitMEMLOCK=infinity
LimitNOFILE=1048576
LimitSTACK=infinity
Delegate=yes
KillMode=process
Restart=on-failure
RestartSec=5
UNIT
  ensure_running slurmd.service
  retry "$WAIT_SECONDS" joined "$name" >/dev/null || fail "$name does not join the cluster at $host: $(last_words)"
  echo "slurmd: $name has joined"
}

joined() {
  # The client commands find what slurmd fetched.
  scontrol --oneliner show node "$1" | grep -E ' State=(IDLE|MIXED|ALLOCATED|COMPLETING|[A-Z]*\+DRAIN)' | grep -qvE 'NOT_RESPONDING|State=[A-Z]*\*'
}

last_words() {
  local words
  words=$(
    journalctl --unit slurmd --lines 20 --output cat --no-pager
    tail -n 20 "$LOG" 2>/dev/null
  )
  if grep -qiE 'authentication|munge|credential' <<<"$words"; then
    echo "the head node refuses this node's credentials: another munge key, or a clock that is off"
    return
  fi
  grep -iE 'error|fatal' <<<"$words" | tail -n 2 | paste -s -d ' '
}

main "$@"
