#!/bin/bash
# usage: boot.sh head|compute|login    runs the steps of a node's boot in their order; a second run changes nothing
#
# The steps are in boot/plan.py, one script each; logs are in /var/log/trainshed.
set -euo pipefail

main() {
  (($# == 1)) || {
    echo "usage: boot.sh head|compute|login" >&2
    exit 2
  }
  cd "$(dirname "$(readlink -f "$0")")"
  # User data has just put the scripts here, and fetches none anew. Power that fails before they are on
  # disk would leave empty ones, which boot "well" for ever.
  sync --file-system .
  export PYTHONDONTWRITEBYTECODE=1
  # A busy node's metadata service answers late, and the AWS command line asks once.
  export AWS_METADATA_SERVICE_NUM_ATTEMPTS=5 AWS_METADATA_SERVICE_TIMEOUT=5
  # One boot at a time: a start of the service, and the watch that starts it after a change.
  exec flock /run/trainshed-boot.lock python3 -m boot "$1"
}

main "$@"
