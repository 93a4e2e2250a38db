#!/bin/bash
# usage: pc_release.sh REGION PROGRAM ZIP_SHA256 ZIP_URL DOCUMENT_SHA256 DOCUMENT_URL [ARGUMENT...]
#
# Brings trainshed's programs to a node of ParallelCluster: the zip becomes /opt/trainshed/current,
# and its PROGRAM is run with the document and the arguments. A second run fetches nothing anew.
# ROOT_DIR stands before every path that is written; empty on a node.
set -euo pipefail

readonly ROOT_DIR="${ROOT_DIR:-}"
readonly HOME_DIR="$ROOT_DIR/opt/trainshed"
PATH="$PATH:/usr/local/bin:/opt/aws/bin:/opt/slurm/bin"

main() {
  (($# >= 6)) || fail "usage: pc_release.sh REGION PROGRAM ZIP_SHA256 ZIP_URL DOCUMENT_SHA256 DOCUMENT_URL [ARGUMENT...]"
  local region=$1 program=$2 zip=$3 zip_url=$4 document=$5 document_url=$6
  shift 6
  mkdir -p "$HOME_DIR/bin"
  link "$(find_python)" "$HOME_DIR/bin/python3"
  if [[ ! -d $HOME_DIR/${zip:0:12} ]]; then
    fetch "$region" "$zip_url" "$zip" "$HOME_DIR/.new.zip"
    unpack "$HOME_DIR/.new.zip" "$HOME_DIR/${zip:0:12}"
  fi
  link "${zip:0:12}" "$HOME_DIR/current"
  fetch "$region" "$document_url" "$document" "$HOME_DIR/.document.new"
  mv "$HOME_DIR/.document.new" "$HOME_DIR/document.json"
  PATH="$HOME_DIR/bin:$PATH" "$HOME_DIR/current/$program" "$HOME_DIR/document.json" "$@"
}

fetch() {
  local region=$1 url=$2 sha256=$3 to=$4
  aws s3 cp --region "$region" --only-show-errors "$url" "$to" </dev/null || fail "cannot fetch $url"
  echo "$sha256  $to" | sha256sum --check --status ||
    fail "$url is not the file that was deployed; its SHA-256 is another"
}

unpack() {
  local zip=$1 to=$2
  rm -rf "$to.new"
  "$HOME_DIR/bin/python3" -m zipfile -e "$zip" "$to.new"
  # Python's zipfile forgets who may run what.
  find "$to.new" -name '*.sh' -exec chmod 0755 {} +
  # As put_whole in common.sh, which comes with the zip.
  sync --file-system "$to.new"
  mv -T "$to.new" "$to"
  rm "$zip"
}

# usage: link TARGET PATH    a link that is never half one and half the other
link() {
  ln -sfn "$1" "$2.new"
  mv -T "$2.new" "$2"
}

# Red Hat 8 has Python 3.6 as python3, Amazon Linux 2023 has 3.9; ParallelCluster brings its own.
find_python() {
  local python
  for python in python3 /opt/parallelcluster/pyenv/versions/*/bin/python3; do
    if "$python" -c 'import sys; sys.exit(sys.version_info < (3, 10))' 2>/dev/null; then
      command -v "$python"
      return
    fi
  done
  fail "no Python 3.10 or later is on this node"
}

fail() {
  echo "pc_release: $*" >&2
  exit 1
}

main "$@"
