#!/bin/bash
# usage: pc_basic_check.sh reserve|run NODE_NAME
#
# Checks of minutes on a node of ParallelCluster. Reserved and not drained meanwhile: ParallelCluster
# replaces a drained node at once, and a new cluster waits for nodes that are idle, alloc, mix or
# maint. A node with jobs is let be, and a reservation that is left behind ends after an hour.
set -euo pipefail
# shellcheck source=assets/node/common.sh
source "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")/common.sh"

HERE=$(cd "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")" && pwd)
readonly HERE EXPECT=${TRAINSHED_EXPECT:-/etc/trainshed/expect.json} SECONDS_AT_MOST=2800
PATH="/opt/trainshed/bin:$PATH:/opt/slurm/bin"

main() {
  (($# == 2)) || fail "usage: pc_basic_check.sh reserve|run NODE_NAME"
  local what=$1 node=$2 reservation=trainshed-check-$2 joining=yes
  if reserved "trainshed-mend-$node"; then
    tell info "$node has failed and is being mended, so it is not checked now"
    return
  fi
  if ! reserved "$reservation"; then
    joining=
    if ! reserve "$reservation" "$node"; then
      tell info "$node has jobs or cannot be reserved, so it is not checked now"
      return
    fi
  fi
  if [[ $what == run ]]; then
    check "$reservation" "$node" "$joining"
  fi
}

reserved() {
  [[ $(scontrol --oneliner show reservation "$1" 2>/dev/null) == "ReservationName=$1 "* ]]
}

reserve() {
  local reservation=$1 node=$2 jobs
  jobs=$(squeue --noheader --all --nodelist="$node" --format=%i) || return
  [[ -z $jobs ]] || return
  # Slurm refuses when a job has started in between.
  scontrol create reservationname="$reservation" nodes="$node" users=root flags=MAINT \
    starttime=now duration=60 >/dev/null
}

check() {
  local reservation=$1 node=$2 joining=$3 code=0 said
  # shellcheck disable=SC2064 # the reservation of now
  trap "scontrol delete reservationname=$reservation || true" EXIT
  said=$(timeout --kill-after=5 "$SECONDS_AT_MOST" python3 -S -E "$HERE/health/health_check.py" basic \
    --expect "$EXPECT" --json --hold ${joining:+--joining} --node-name "$node" 2>&1) || code=$?
  if ((code == 0)); then
    tell info "$node passed the checks of minutes"
  else
    tell err "checks of minutes on $node ended with $code: $(grep -v '"verdict": "ok"' <<<"$said")"
    # Who says what a check found holds the node as well.
    if [[ $joining ]] && ! grep -q '"verdict": ' <<<"$said"; then
      hold_without_a_word "$node" "code $code: $(tail -c 100 <<<"$said")"
    fi
  fi
}

# The program was killed, say, or Python is broken: as hold.py does where a check could not be made. A node
# that is not static would be replaced by one that is as broken.
hold_without_a_word() {
  local node=$1 text
  [[ $node =~ .*-(st|dy)-[a-z0-9-]+-[0-9]+$ && ${BASH_REMATCH[1]} == st ]] || return 0
  text=$(tr -s '=[:space:]' ' ' <<<"could not be made: $2")
  # slurmctld may be restarting. Without the word a person still sees a node that is reserved.
  retry 90 scontrol update nodename="$node" comment="trainshed: failed checks [monitor] $text" || true
  if ! retry 90 scontrol create reservationname="trainshed-mend-$node" nodes="$node" users=root \
    starttime=now duration=UNLIMITED flags=MAINT,IGNORE_JOBS; then
    # That of the check stays for its hour.
    trap - EXIT
  fi
}

tell() {
  logger -t trainshed -p "user.$1" "basic check: $2" || true
}
main "$@"
