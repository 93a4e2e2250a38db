#!/bin/bash
# usage: task_prolog.sh    Slurm's TaskProlog: what it prints becomes the environment of a task
#
# A job has the environment of the shell that submitted it, on a node without EFA. What the user has
# set stays; libraries are looked for in the user's directories first.
set -euo pipefail

readonly FILE=/etc/trainshed/training.env

main() {
  local name value
  [[ -r $FILE ]] || return 0
  while IFS='=' read -r name value; do
    if [[ $name == LD_LIBRARY_PATH ]]; then
      echo "export $name=${LD_LIBRARY_PATH:+$LD_LIBRARY_PATH:}$value"
    elif [[ ! -v $name ]]; then
      echo "export $name=$value"
    fi
  done <"$FILE"
}

main "$@"
