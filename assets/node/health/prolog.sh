#!/bin/bash
# usage: prolog.sh
#
# Prolog of Slurm: checks the node before a job starts on it. When a check fails, the node is drained
# with the reason and the job goes elsewhere. A check that cannot be made stops no job.
# On ParallelCluster, where Prolog is not to be set: in /opt/slurm/etc/scripts/prolog.d.
# TRAINSHED_EXPECT is the document of what the node should have.
set -euo pipefail

HERE=$(cd "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")" && pwd)
readonly HERE EXPECT=${TRAINSHED_EXPECT:-/etc/trainshed/expect.json} SECONDS_AT_MOST=55
# Where ParallelCluster has Slurm, and a Python that is new enough.
PATH="/opt/trainshed/bin:$PATH:/opt/slurm/bin"

main() {
  local code=0 said
  export TRAINSHED_HEALTH_CONTEXT=prolog
  said=$(timeout --kill-after=5 "$SECONDS_AT_MOST" python3 -S -E "$HERE/health_check.py" fast \
    --expect "$EXPECT" --json --drain 2>&1) || code=$?
  if ((code == 124 || code == 137)) || grep -q '"verdict": "fail"' <<<"$said"; then
    tell err "ended with $code: $(grep -v '"verdict": "ok"' <<<"$said")"
    # Slurm keeps the reason that the node has been drained with.
    exit 1
  elif ((code != 0)); then
    tell warning "not checked: $said"
  fi
}

tell() {
  logger -t trainshed -p "user.$1" "prolog: $2" || true
}

main "$@"
