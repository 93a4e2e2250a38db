#!/usr/bin/env bash
# Make a venv of aws-parallelcluster, which cannot share ours (it pins CDK 1). Usage: pcluster_venv.sh [DIR]
set -euo pipefail

# The lock of that venv is also its list: what it names is what is installed.
readonly LOCK="tests/peers/pcluster/constraints.txt"

install() {
  local directory=$1 python=python3
  if [ -x .venv/bin/uv ]; then
    [ -x .venv/bin/python ] && python=.venv/bin/python
    .venv/bin/uv venv --quiet --clear --python "$python" "$directory"
    .venv/bin/uv pip install --quiet --no-deps --python "$directory/bin/python" -r "$LOCK"
  else
    "$python" -m venv --clear "$directory"
    "$directory/bin/pip" install --quiet --disable-pip-version-check --no-deps -r "$LOCK"
  fi
}

main() {
  local directory=${1:-}
  if [ -n "$directory" ]; then
    mkdir -p "$(dirname "$directory")"
    directory="$(cd "$(dirname "$directory")" && pwd)/$(basename "$directory")"
  fi
  cd "$(dirname "$0")/.."
  directory=${directory:-$PWD/.cache/pcluster-3.16.1}
  if cmp -s "$LOCK" "$directory/installed.txt"; then
    return
  fi
  # `--clear` empties the directory: only ever one that this script, or venv, made.
  if [ -e "$directory" ] && [ ! -e "$directory/pyvenv.cfg" ]; then
    echo "pcluster_venv: $directory is there and is no virtual environment" >&2
    exit 1
  fi
  echo "pcluster_venv: installing aws-parallelcluster into $directory" >&2
  install "$directory"
  cp "$LOCK" "$directory/installed.txt"
}

main "$@"
