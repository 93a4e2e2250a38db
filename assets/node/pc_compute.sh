#!/bin/bash
# usage: pc_compute.sh EXPECT_JSON SHARED_DIR
#
# What pc_release.sh runs on a compute node of ParallelCluster before slurmd starts: fast checks now
# and every minute, trainshed-resume, and the checks of minutes while the node is reserved. A static
# node that fails is reserved for the head node to have it mended, another one is drained.
set -euo pipefail

HERE=$(cd "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")" && pwd)
readonly HERE ROOT_DIR="${ROOT_DIR:-}"

main() {
  (($# == 2)) || fail "usage: pc_compute.sh EXPECT_JSON SHARED_DIR"
  local expect=$1 shared=$2 said
  # With EC2's own DNS the host's name is not the node's.
  SLURMD_NODENAME=$(cat "$ROOT_DIR/etc/parallelcluster/slurm_plugin/slurm_nodename" 2>/dev/null || hostname -s)
  export SLURMD_NODENAME
  forget_former
  "$HERE/health/install_health.sh" "$expect" hold
  "$HERE/install_resume.sh" "$shared"
  install_basic_check
  install_mending
  said=$(python3 -S -E "$HERE/health/health_check.py" fast --expect "$expect" --hold --joining 2>&1) || true
  echo "$said"
  # By its words: Python also ends with 1 when it cannot run the checks.
  if grep -q "^fail " <<<"$said"; then
    echo "pc_compute: the node is not well; the checks of minutes are not made"
    return
  fi
  "$HERE/pc_basic_check.sh" reserve "$SLURMD_NODENAME"
  systemctl start --no-block trainshed-basic-check.service
}

# The instance that had this name before may have been held, and its reservation outlives it.
forget_former() {
  local reservation=trainshed-mend-$SLURMD_NODENAME
  if scontrol --oneliner show reservation "$reservation" >/dev/null 2>&1; then
    # A node that stays reserved is told as held; one whose boot fails is replaced again and again.
    scontrol update nodename="$SLURMD_NODENAME" comment="trainshed: another instance" || true
    scontrol delete reservationname="$reservation" || true
  fi
}

install_basic_check() {
  local units="$ROOT_DIR/etc/systemd/system"
  cat >"$units/trainshed-basic-check.service" <<EOF
[Unit]
Description=Checks of minutes, while no job may start on this node

[Service]
Type=oneshot
ExecStart=$ROOT_DIR/opt/trainshed/current/pc_basic_check.sh run $SLURMD_NODENAME
EOF
  cat >"$units/trainshed-basic-check.timer" <<'EOF'
[Unit]
Description=Checks of minutes, each week

[Timer]
OnCalendar=Sun 03:00
RandomizedDelaySec=1h

[Install]
WantedBy=timers.target
EOF
  systemctl daemon-reload
  systemctl enable --now trainshed-basic-check.timer
}

install_mending() {
  local units="$ROOT_DIR/etc/systemd/system"
  # Gone after a reboot, which is how node_gate.py tells that it has been made.
  install -D -m 0644 /dev/null "$ROOT_DIR/run/trainshed/gate-checked"
  cat >"$units/trainshed-mend.service" <<EOF
[Unit]
Description=Does what the head node orders for this node while it is held
After=slurmd.service

[Service]
Type=oneshot
Environment=PATH=$ROOT_DIR/opt/trainshed/bin:/opt/slurm/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
ExecStart=/usr/bin/env python3 $ROOT_DIR/opt/trainshed/current/node_gate.py --reserved $SLURMD_NODENAME
EOF
  cat >"$units/trainshed-mend.timer" <<'EOF'
[Unit]
Description=Does what the head node orders for this node, every minute

[Timer]
OnBootSec=60
OnUnitInactiveSec=60
RandomizedDelaySec=5

[Install]
WantedBy=timers.target
EOF
  systemctl daemon-reload
  systemctl enable --now trainshed-mend.timer
}

fail() {
  echo "pc_compute: $*" >&2
  exit 1
}

main "$@"
