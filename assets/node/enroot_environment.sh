#!/bin/bash
# usage: enroot_environment.sh [NODES_FILE]    Enroot's hook: what a job has set of the node's values, in its container
#
# Pyxis has a container's values prevail over those of the job, and the node's are among these: Enroot
# takes them from the same file. Enroot gives a hook the job's environment and the file to write
# to (enroot 4.1.2, src/runtime.sh; pyxis 0.24.0, pyxis_slurmstepd.c; read 2026-11-30). A value that is
# the node's own, as a batch script has it of task_prolog.sh, nobody has set. What the file has of
# the user's own settings for Enroot, or of `enroot start --env`, stays.
set -euo pipefail

readonly FILE=${1:-/etc/enroot/environ.d/50-trainshed.env}

main() {
  local name value
  [[ -r $FILE ]] || return 0
  while IFS='=' read -r name value; do
    [[ $name =~ ^[A-Za-z_][A-Za-z0-9_]*$ ]] || continue
    if [[ ${!name-$value} != "$value" && $(in_container "$name") == "$value" ]]; then
      echo "$name=${!name}" >>"$ENROOT_ENVIRON"
    fi
  done <"$FILE"
}

# The last of several prevails.
in_container() {
  sed -n "s/^$1=//p" "$ENROOT_ENVIRON" | tail -n 1
}

main "$@"
