#!/bin/bash
# usage: fetch.sh REGION BUCKET KEY SHA256 DIR    makes DIR the content of a zip or tar file in S3
#
# DIR becomes a link to a directory named after the checksum, so it is never half one and half the
# other, and a second run fetches nothing. It ends with 75 when the object cannot be read: the boot
# reads the fleet document again then.
set -euo pipefail
# shellcheck source=assets/node/common.sh
source "$(dirname "$0")/common.sh"

readonly READ_AGAIN=75

main() {
  local region=$1 bucket=$2 key=$3 sha256=$4 link=$5
  local dir=$link-${sha256:0:12}
  if [[ ! -d $dir ]]; then
    unpack "$region" "s3://$bucket/$key" "$sha256" "$dir.new"
    put_whole "$dir.new" "$dir"
  fi
  if [[ $(readlink "$link") != "${dir##*/}" ]]; then
    ln -sfn "${dir##*/}" "$link.new"
    mv -T "$link.new" "$link"
  fi
  echo "fetch: $link is ${sha256:0:12}"
}

unpack() {
  local region=$1 url=$2 sha256=$3 new=$4
  rm -rf "$new"
  mkdir -p "$new"
  aws s3 cp --region "$region" --only-show-errors "$url" "$new.file" || {
    echo "fetch: cannot fetch $url" >&2
    exit "$READ_AGAIN"
  }
  echo "$sha256  $new.file" | sha256sum --check --status ||
    fail "$url has the SHA-256 $(sha256sum <"$new.file" | cut -c1-12)… and not ${sha256:0:12}…"
  case $url in
  *.zip) python3 -m zipfile -e "$new.file" "$new" ;;
  *) tar -xf "$new.file" -C "$new" --no-same-owner ;;
  esac
  rm "$new.file"
}

main "$@"
