#!/bin/bash
# usage: lustre_client.sh    FSx's Lustre client for the kernel that runs, where the image has none
#
# FSx for Lustre user guide "Installing the Lustre client", Ubuntu: its repository has a package of
# modules for each kernel, and the kernel is held. A node without internet needs an image that has it.
set -euo pipefail
# shellcheck source=assets/node/common.sh
source "$(dirname "$0")/common.sh"

readonly FROM=https://fsx-lustre-client-repo
readonly KEY=/usr/share/keyrings/fsx-ubuntu-public-key.asc
readonly LIST=/etc/apt/sources.list.d/fsxlustreclientrepo.list

main() {
  local kernel key
  if command -v mount.lustre >/dev/null; then
    return
  fi
  kernel=$(uname -r)
  key=$(curl --fail --silent --show-error --retry 5 --max-time 60 \
    "$FROM-public-keys.s3.amazonaws.com/fsx-ubuntu-public-key.asc") ||
    fail "this image has no Lustre client and FSx's repository cannot be reached; take an image that has it"
  write_file "$KEY" 0644 root <<<"$key"
  write_file "$LIST" 0644 root <<<"deb [signed-by=$KEY] $FROM.s3.amazonaws.com/ubuntu $(codename) main"
  apt_get update || echo "lustre_client: going on with the repositories that answer" >&2
  apt_get install --no-install-recommends "lustre-client-modules-$kernel" ||
    fail "FSx has no Lustre client for kernel $kernel; take an image of a kernel that it has"
  echo "lustre_client: installed for kernel $kernel"
}

codename() {
  sed -n 's/^VERSION_CODENAME=//p' /etc/os-release
}

main "$@"
