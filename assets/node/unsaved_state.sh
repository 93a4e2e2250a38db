#!/bin/bash
# usage: unsaved_state.sh STATE_DIR CLUSTER    lets slurmctld begin anew where its first start ended before it saved anything
#
# slurmctld first writes its cluster's name, and saves its state later. From 25.05 on it does not start where
# the name is there and a file of the state is not: that may have been lost. Nothing can have been where
# there is nothing but what a first start writes at once; so only there the name goes, and what slurmctld
# then makes is the same: it has the cluster's id from the database. Whatever else is found, or cannot be
# read, is left to a person.
set -euo pipefail

readonly AT_ONCE='(last_config_lite|priority_last_decay_ran)(\.old)?'

main() {
  local dir=$1 cluster=$2 found name
  [[ -e $dir/clustername ]] || return 0
  found=$(ls -A "$dir")
  found=$(grep -vxE "clustername|$AT_ONCE" <<<"$found") || (($? == 1))
  [[ -z $found ]] || return 0
  # "NAME" or "NAME|ID"; empty after a loss of power.
  name=$(cat "$dir/clustername")
  if [[ -z $name || ${name%|*} == "$cluster" ]]; then
    rm "$dir/clustername"
    echo "unsaved_state: slurmctld ended before it had saved anything, and begins anew"
  fi
}

main "$@"
