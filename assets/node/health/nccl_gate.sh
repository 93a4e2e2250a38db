#!/bin/bash
# usage: nccl_gate.sh [--strict] EXPECT_JSON OUT_DIR    inside an allocation of all nodes: sbatch or salloc
#
# Runs nccl-tests' all-reduce over every GPU of the allocation and judges it: bandwidth, right values,
# and the proof that the data went over EFA. Ends with 0 when the nodes may be used; with --strict,
# only where the table has a row to judge the bandwidth by.
# NCCL_TESTS names all_reduce_perf (built with MPI), NCCL_CONTAINER an image that has it, GATE_MPI
# srun's --mpi, GATE_SECONDS the time limit.
set -euo pipefail

HERE=$(cd "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")" && pwd)
[[ -f $HERE/nccl_gate.py ]] || HERE=/opt/trainshed/current/health # sbatch runs a copy
readonly HERE
# 128 MiB to 16 GiB has every size of the table.
readonly SIZES=(--minbytes 128M --maxbytes 16G --stepfactor 2 --iters 20 --warmup_iters 5 --check 1)

main() {
  local -a container=() judge=()
  if [[ ${1:-} == --strict ]]; then
    judge=(--strict)
    shift
  fi
  (($# == 2)) || fail "usage: nccl_gate.sh [--strict] EXPECT_JSON OUT_DIR"
  local expect=$1 directory=$2 nodes=${SLURM_JOB_NUM_NODES:-} code=0 output gpus program
  [[ -n $nodes ]] || fail "there is no allocation: run it with sbatch or salloc"
  gpus=$(python3 -S -E "$HERE/nccl_gate.py" --gpus --expect "$expect")
  program=${NCCL_TESTS:-$(find_program)}
  if [[ -n ${NCCL_CONTAINER:-} ]]; then
    container=(--container-image="$NCCL_CONTAINER")
  fi
  mkdir -p "$directory"
  output="$directory/nccl-gate-$SLURM_JOB_ID"
  export FI_PROVIDER=efa NCCL_DEBUG=INFO NCCL_DEBUG_SUBSYS=INIT,NET
  export NCCL_SOCKET_IFNAME=${NCCL_SOCKET_IFNAME:-^docker,lo}
  timeout "${GATE_SECONDS:-900}" srun --mpi="${GATE_MPI:-pmix}" --nodes="$nodes" \
    --ntasks-per-node="$gpus" --gpus-per-node="$gpus" --kill-on-bad-exit=1 "${container[@]}" \
    "$program" "${SIZES[@]}" --ngpus 1 >"$output.txt" 2>&1 || code=$?
  python3 -S -E "$HERE/nccl_gate.py" "$output.txt" --expect "$expect" --nodes "$nodes" --code "$code" \
    "${judge[@]}" | tee "$output.json"
}

find_program() {
  local place
  if [[ -n ${NCCL_CONTAINER:-} ]]; then
    echo /opt/nccl-tests/build/all_reduce_perf
    return
  fi
  for place in /opt/nccl-tests/build /usr/local/cuda/efa/test-cuda /usr/local/cuda-*/efa/test-cuda-*; do
    if [[ -x $place/all_reduce_perf ]]; then
      echo "$place/all_reduce_perf"
      return
    fi
  done
  fail "all_reduce_perf of nccl-tests is not there; name it in NCCL_TESTS, or an image in NCCL_CONTAINER"
}

fail() {
  echo "nccl_gate: $*" >&2
  exit 2
}

main "$@"
