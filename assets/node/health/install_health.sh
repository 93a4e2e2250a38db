#!/bin/bash
# usage: install_health.sh EXPECT_JSON [timer|hold] [prolog.d]
#
# Tells the checks beside this script what the node should have. With timer, systemd runs them every
# minute, and with hold a node that fails is reserved and not drained; with prolog.d,
# ParallelCluster's Slurm runs them before each job (on the head node).
# SLURMD_NODENAME, where it is set, is the node's name in Slurm; else the host's is.
# ROOT_DIR stands before every path that is written; empty on a node.
set -euo pipefail

HERE=$(cd "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")" && pwd)
readonly HERE ROOT_DIR="${ROOT_DIR:-}"

main() {
  (($# >= 1)) || fail "usage: install_health.sh EXPECT_JSON [timer|hold] [prolog.d]"
  [[ -f $1 ]] || fail "$1 is not there"
  install -D -m 0644 "$1" "$ROOT_DIR/etc/trainshed/expect.json"
  shift
  local part
  for part in "$@"; do
    case $part in
    timer) install_timer "" ;;
    hold) install_timer " hold" ;;
    prolog.d) install_prolog ;;
    *) fail "$part is neither timer, hold nor prolog.d" ;;
    esac
  done
}

# usage: install_timer ARGUMENTS
install_timer() {
  local units="$ROOT_DIR/etc/systemd/system"
  mkdir -p "$units"
  cat >"$units/trainshed-health.service" <<EOF
[Unit]
Description=Health of this node
[Service]
Type=oneshot
${SLURMD_NODENAME:+Environment=SLURMD_NODENAME=$SLURMD_NODENAME
}ExecStart=$HERE/health_program.sh$1
TimeoutStartSec=70
EOF
  # A minute is the period of the alarms; the delay keeps a fleet from asking Slurm all at once.
  cat >"$units/trainshed-health.timer" <<EOF
[Unit]
Description=Health of this node, every minute
[Timer]
OnBootSec=60
OnUnitActiveSec=60
RandomizedDelaySec=5
[Install]
WantedBy=timers.target
EOF
  systemctl daemon-reload
  systemctl enable --now trainshed-health.timer
}

install_prolog() {
  local directory="$ROOT_DIR/opt/slurm/etc/scripts/prolog.d"
  [[ -d $directory ]] || fail "$directory is not there: is this ParallelCluster's head node?"
  ln -sfn "$HERE/prolog.sh" "$directory/50_trainshed_health"
}

fail() {
  echo "install_health: $*" >&2
  exit 1
}

main "$@"
