#!/bin/bash
# usage: pc_actions.sh SSM_PARAMETER REGION [CONTENT_HASH]
#
# Runs the scripts that an SSM parameter lists, one a line: SHA256 S3_URL [ARGUMENT...]
#
# ParallelCluster never changes the OnNodeConfigured script of a head node or a login pool, nor its
# arguments. So this file never changes: the list does. CONTENT_HASH is not read; another value of
# it is how ParallelCluster sees that the list has changed, and runs this as OnNodeUpdated.
set -euo pipefail

main() {
  (($# >= 2)) || fail "usage: pc_actions.sh SSM_PARAMETER REGION [CONTENT_HASH]"
  local parameter=$1 region=$2 list scripts
  local -a line
  PATH="$PATH:/usr/local/bin:/opt/aws/bin"
  list=$(aws ssm get-parameter --region "$region" --name "$parameter" \
    --query Parameter.Value --output text) || fail "cannot read the SSM parameter $parameter"
  scripts=$(mktemp -d)
  # shellcheck disable=SC2064 # the directory of now
  trap "rm -rf '$scripts'" EXIT
  # Nothing runs before everything is there and as it should be.
  while read -r -a line; do
    ((${#line[@]} == 0)) || fetch "$region" "$scripts" "${line[@]:0:2}"
  done <<<"$list"
  while read -r -a line; do
    ((${#line[@]} == 0)) || run "$scripts" "${line[@]}"
  done <<<"$list"
}

fetch() {
  local region=$1 scripts=$2 sha256=$3 url=$4
  aws s3 cp --region "$region" --only-show-errors "$url" "$scripts/$sha256" </dev/null ||
    fail "cannot fetch $url"
  echo "$sha256  $scripts/$sha256" | sha256sum --check --status ||
    fail "$url is not the script that was deployed; its SHA-256 is another"
  chmod 0700 "$scripts/$sha256"
}

run() {
  local script=$1/$2 url=$3
  shift 3
  echo "pc_actions: ${url##*/} $*"
  "$script" "$@" </dev/null || fail "$url failed with status $?"
}

fail() {
  echo "pc_actions: $*" >&2
  exit 1
}

main "$@"
