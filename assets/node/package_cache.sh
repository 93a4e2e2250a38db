#!/bin/bash
# usage: package_cache.sh OUT_TAR SLURM_VERSION [CONTAINERS_DIR]    what nodes without internet install from
#
# Run it as root on a connected machine of the nodes' image. It downloads what head, compute and
# login nodes lack there, and changes nothing else. CONTAINERS_DIR is what build_containers.sh made.
# Put OUT_TAR into a bucket, and bucket, key and the SHA-256 that is printed into the institution
# file (fleet.slurm.packages). The same packages make the same file, bit by bit.
set -euo pipefail
# shellcheck source=assets/node/common.sh
source "$(dirname "$0")/common.sh"

main() {
  local out=$1 version=$2 containers=${3:-} work
  work=$(mktemp -d)
  # shellcheck disable=SC2064 # the directory of now
  trap "rm -rf '$work'" EXIT
  # apt downloads as a user of its own.
  chmod 0755 "$work"
  download "$work" "$version"
  (cd "$work" && index >Packages)
  if [[ -n $containers ]]; then
    cp -R "$containers" "$work/containers"
  fi
  (cd "$work" && find . -type f ! -name 'SHA256SUMS*' -printf '%P\n' | sort | xargs -d '\n' sha256sum >SHA256SUMS.new &&
    mv SHA256SUMS.new SHA256SUMS)
  tar --create --file "$out.new" --directory "$work" --sort=name --mtime=@0 --owner=0 --group=0 --numeric-owner .
  mv "$out.new" "$out"
  echo "package_cache: $(find "$work" -name '*.deb' | wc -l) packages, SHA-256 $(sha256sum "$out" | cut -d' ' -f1)"
}

download() {
  local work=$1 version=$2 role candidate
  local -a wanted=()
  for role in head compute login; do
    mapfile -t -O "${#wanted[@]}" wanted < <("$(dirname "$0")/install_packages.sh" --list "$role")
  done
  apt-get --quiet=2 update || fail "apt-get update failed, see above"
  candidate=$(apt-cache policy slurm-client | awk '$1 == "Candidate:" {print $2}')
  [[ $candidate == "$version"* ]] ||
    fail "the mirror has Slurm ${candidate:-none}, the fleet is pinned to $version"
  mkdir -p "$work/partial"
  apt-get --quiet=2 --yes --no-install-recommends --download-only \
    -o "Dir::Cache::Archives=$work" install "${wanted[@]}" >/dev/null ||
    fail "apt-get cannot download, see above"
  rm -rf "$work/partial" "$work/lock"
}

# The index of a flat repository, which apt reads as it reads a mirror's.
index() {
  local deb
  for deb in *.deb; do
    dpkg-deb --field "$deb"
    printf 'Filename: ./%s\nSize: %s\nSHA256: %s\n\n' "$deb" "$(stat -c %s "$deb")" "$(sha256sum "$deb" | cut -d' ' -f1)"
  done
}

main "$@"
