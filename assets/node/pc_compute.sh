#!/bin/bash
# usage: pc_compute.sh EXPECT_JSON SHARED_DIR
#
# What pc_release.sh runs on a compute node of ParallelCluster before slurmd starts: fast checks now
# and every minute, trainshed-resume, and the checks of minutes while the node is reserved. A node
# that fails is drained with the reason, and ParallelCluster replaces drained nodes.
set -euo pipefail

HERE=$(cd "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")" && pwd)
readonly HERE ROOT_DIR="${ROOT_DIR:-}"

main() {
  (($# == 2)) || fail "usage: pc_compute.sh EXPECT_JSON SHARED_DIR"
  local expect=$1 shared=$2 code=0
  # With EC2's own DNS the host's name is not the node's.
  SLURMD_NODENAME=$(cat "$ROOT_DIR/etc/parallelcluster/slurm_plugin/slurm_nodename" 2>/dev/null || hostname -s)
  export SLURMD_NODENAME
  "$HERE/health/install_health.sh" "$expect" timer
  "$HERE/install_resume.sh" "$shared"
  python3 -S -E "$HERE/health/health_check.py" fast --expect "$expect" --drain --joining || code=$?
  if ((code == 1)); then
    echo "pc_compute: the node is not well; the checks of minutes are not made"
    return
  fi
  "$HERE/pc_basic_check.sh" reserve "$SLURMD_NODENAME"
  install_basic_check
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
  systemctl start --no-block trainshed-basic-check.service
}

fail() {
  echo "pc_compute: $*" >&2
  exit 1
}

main "$@"
