#!/bin/bash
# usage: reconfigure.sh NEW_DIR LIVE_DIR    puts new configuration files in place, if a slurmctld comes up with them
#
# "scontrol reconfigure" with a wrong file ends slurmctld on Slurm 22.05 and 24.11, so a live one
# never sees a file that was not tried first. Exit code: 0 done; 1 refused, 2 not
# tried, and nothing changed. While LIVE_DIR/.pending is there, files are in place that slurmctld has not
# read: run this again.
set -euo pipefail

main() {
  local new=$1 live=$2 trial said file code=0 why="slurmctld does not take these files"
  trial=$(mktemp -d)
  # shellcheck disable=SC2064 # now: the variable is local
  trap "rm -rf '$trial'" EXIT
  cp -R "$live"/. "$new"/. "$trial"
  said=$("$(dirname "$0")/dry_run.sh" "$trial") || code=$?
  if ((code)); then
    ((code == 1)) || why="these files could not be tried"
    echo "reconfigure.sh: $why, nothing was changed:" >&2
    echo "$said" >&2
    return "$code"
  fi
  : >"$live/.pending"
  for file in "$new"/*; do
    # Written beside and renamed: a daemon never reads half a file.
    cp "$file" "$live/.${file##*/}.new"
    mv "$live/.${file##*/}.new" "$live/${file##*/}"
  done
  scontrol reconfigure
  rm "$live/.pending"
}

main "$@"
