#!/bin/bash
# usage: slurmd.sh NODE_NAME HEAD_HOST NODE_CONF    joins this node to the cluster under its name
#
# The node is dynamic and without files of its own: it tells slurmctld its hardware and fetches the
# configuration from there. A restart of slurmd leaves running jobs alone.
set -euo pipefail
# shellcheck source=assets/node/common.sh
source "$(dirname "$0")/common.sh"

readonly PORT=6817 LOG=/var/log/slurm/slurmd.log
readonly WAIT_SECONDS=900   # the head node may still boot
readonly REFUSED_SECONDS=20 # a refusal that stays is none of a head node that starts

main() {
  local name=$1 host=$2 conf=$3
  # Slurm 22.05 runs without it; 23.11 logs and spools there.
  install -d -m 0755 -o slurm -g slurm /var/log/slurm
  install -d -m 0755 /var/spool/slurmd
  write_file /etc/default/slurmd 0644 root slurmd.service <<OPTIONS
SLURMD_OPTIONS="-Z -N $name --conf-server $host:$PORT --conf '$conf'"
OPTIONS
  write_file /etc/systemd/system/slurmd.service.d/trainshed.conf 0644 root slurmd.service <<'UNIT'
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
  if noted slurmd.service; then
    systemctl daemon-reload
    systemctl restart --no-block slurmd.service
  else
    systemctl start --no-block slurmd.service
  fi
  wait_joined "$name" "$host"
  settle slurmd.service
  echo "slurmd: $name has joined"
}

wait_joined() {
  local name=$1 host=$2 end=$((SECONDS + WAIT_SECONDS)) refused_since=""
  until joined "$name"; do
    ((SECONDS < end)) || fail "$name does not join the cluster at $host: $(last_words)"
    if refused; then
      : "${refused_since:=$SECONDS}"
      ((SECONDS - refused_since < REFUSED_SECONDS)) || fail "the head node $host refuses the" \
        "credentials of $name: another munge key, or a clock that is off"
    else
      refused_since=""
    fi
    sleep 1
  done
}

joined() {
  # The client commands find what slurmd fetched.
  local shown
  shown=$(timeout 10 scontrol --oneliner show node "$1" 2>/dev/null) &&
    grep -qE ' State=(IDLE|MIXED|ALLOCATED|COMPLETING|[A-Z]*\+DRAIN)' <<<"$shown" &&
    ! grep -qE 'NOT_RESPONDING|State=[A-Z]*\*' <<<"$shown"
}

refused() {
  grep -qiE 'authentication|munge|credential' <<<"$(said)"
}

said() {
  journalctl --unit slurmd --since "-15s" --output cat --no-pager
  if [[ -f $LOG && -n $(find "$LOG" -newermt '-15 seconds') ]]; then
    tail -n 5 "$LOG"
  fi
}

last_words() {
  {
    journalctl --unit slurmd --lines 20 --output cat --no-pager
    tail -n 20 "$LOG" 2>/dev/null
  } | grep -iE 'error|fatal' | tail -n 2 | paste -s -d ' '
}

main "$@"
