#!/bin/bash
# usage: pc_optional.sh REGION SHA256 S3_URL [ARGUMENT...]
#
# Runs a script without which a node still works. When it fails, that is written to the system log
# and the node goes on: ParallelCluster would otherwise replace the node, again and again.
set -euo pipefail

main() {
  (($# >= 3)) || fail "usage: pc_optional.sh REGION SHA256 S3_URL [ARGUMENT...]"
  local region=$1 sha256=$2 url=$3 script
  shift 3
  PATH="$PATH:/usr/local/bin:/opt/aws/bin"
  script=$(mktemp)
  # shellcheck disable=SC2064 # the file of now
  trap "rm -f '$script'" EXIT
  aws s3 cp --region "$region" --only-show-errors "$url" "$script" || fail "cannot fetch $url"
  echo "$sha256  $script" | sha256sum --check --status ||
    fail "$url is not the script that was deployed; its SHA-256 is another"
  chmod 0700 "$script"
  "$script" "$@" || warn "${url##*/} failed with status $?; the node goes on without it"
}

warn() {
  echo "pc_optional: $*" >&2
  logger -t trainshed -p user.warning "pc_optional: $*"
}

fail() {
  echo "pc_optional: $*" >&2
  exit 1
}

main "$@"
