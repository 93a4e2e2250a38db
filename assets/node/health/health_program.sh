#!/bin/bash
# usage: health_program.sh [drain|hold]
#
# HealthCheckProgram of Slurm, or the service of a systemd timer: checks the node, sends metrics to
# the CloudWatch agent, and drains the node with the reason when a check fails. Running jobs go on.
# With hold a static node of ParallelCluster is reserved in the place of that.
# TRAINSHED_EXPECT is the document of what the node should have.
set -euo pipefail

HERE=$(cd "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")" && pwd)
# Slurm kills a health check after 60 s.
readonly HERE EXPECT=${TRAINSHED_EXPECT:-/etc/trainshed/expect.json} SECONDS_AT_MOST=55
# Where ParallelCluster has Slurm, and a Python that is new enough.
PATH="/opt/trainshed/bin:$PATH:/opt/slurm/bin"

main() {
  local how=${1:-drain} code=0 said
  export TRAINSHED_HEALTH_CONTEXT=health_check
  said=$(timeout --kill-after=5 "$SECONDS_AT_MOST" python3 -S -E "$HERE/health_check.py" fast \
    --expect "$EXPECT" --json --"$how" --publish 2>&1) || code=$?
  if ((code != 0)); then
    logger -t trainshed -p user.err "health: $(grep -v '"verdict": "ok"' <<<"$said")" || true
  fi
}

main "$@"
