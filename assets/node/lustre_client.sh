#!/bin/bash
# usage: lustre_client.sh    FSx's Lustre client for the kernel that runs, where the image has none
#
# FSx for Lustre user guide "Installing the Lustre client", Ubuntu, read 2026-11-29: its repository has
# a package of modules for each kernel, and the kernel is held. A node without internet needs an image
# that has it.
set -euo pipefail
# shellcheck source=assets/node/common.sh
source "$(dirname "$0")/common.sh"

readonly FROM=https://fsx-lustre-client-repo
readonly KEY=/usr/share/keyrings/fsx-ubuntu-public-key.asc
readonly LIST=/etc/apt/sources.list.d/fsxlustreclientrepo.list
readonly PACKAGE=lustre-client-modules
# AWS's guide names no fingerprint. This is the one that a public installer of the client has pinned
# (lustre_installer.sh 1.0.0, read 2026-11-30).
readonly FINGERPRINT=9C36DD9C515F10DBC3AA835C5D5CCC3383A962E1

main() {
  local kernel
  kernel=$(uname -r)
  if has_client "$kernel"; then
    return
  fi
  [[ $(os_release ID) == ubuntu ]] ||
    fail "$(missing "$kernel"), and it is not Ubuntu, for which one can be installed; take an image that has it"
  add_repository "$kernel"
  update_list || fail "$(missing "$kernel") and the list of FSx's packages cannot be had, see above"
  apt-cache show "$PACKAGE-$kernel" >/dev/null 2>&1 ||
    fail "FSx has no Lustre client for kernel $kernel of Ubuntu $(os_release VERSION_CODENAME)," \
      "only for $(kernels_offered); take an image of a kernel that it has"
  apt_get install --no-install-recommends "$PACKAGE-$kernel" ||
    fail "FSx's Lustre client for kernel $kernel does not install, see above"
  has_client "$kernel" || fail "$PACKAGE-$kernel is installed, and $(missing "$kernel")"
  "$(dirname "$0")/hold_kernel.sh"
  echo "lustre_client: installed for kernel $kernel"
}

has_client() {
  command -v mount.lustre >/dev/null && modinfo -k "$1" lustre >/dev/null 2>&1
}

missing() {
  local -a others
  if ! command -v mount.lustre >/dev/null; then
    echo "this image has no Lustre client"
    return
  fi
  mapfile -t others < <(find /lib/modules/*/ -name 'lustre.ko*' -printf '%H\n' 2>/dev/null | xargs -r -n1 basename | sort -u)
  echo "this image's Lustre client is for kernel ${others[*]:-of none} and not $1, which runs"
}

add_repository() {
  local key found
  key=$(curl --fail --silent --show-error --retry 5 --max-time 60 \
    "$FROM-public-keys.s3.amazonaws.com/fsx-ubuntu-public-key.asc") ||
    fail "$(missing "$1") and FSx's repository cannot be reached; take an image that has it"
  found=$(python3 "$(dirname "$0")/key_fingerprint.py" <<<"$key" | paste -s -d ' ') ||
    fail "what FSx's repository gives for its key is none"
  [[ $found == "$FINGERPRINT" ]] ||
    fail "FSx's repository has the key $found and not $FINGERPRINT; take an image that has the client"
  write_file "$KEY" 0644 root <<<"$key"
  write_file "$LIST" 0644 root <<<"deb [signed-by=$KEY] $FROM.s3.amazonaws.com/ubuntu $(os_release VERSION_CODENAME) main"
}

# FSx's alone: other repositories of the image need not answer.
update_list() {
  apt_get -o APT::Update::Error-Mode=any -o "Dir::Etc::SourceList=$LIST" -o Dir::Etc::SourceParts=/dev/null \
    -o APT::Get::List-Cleanup=0 update
}

# The newest three.
kernels_offered() {
  local -a offered
  mapfile -t offered < <(apt-cache pkgnames "$PACKAGE-" | sed -n "s/^$PACKAGE-\([0-9]\)/\1/p" | sort --version-sort | tail -n 3)
  echo "${offered[*]:-none}"
}

os_release() {
  sed -n "s/^$1=\"\?\([^\"]*\)\"\?$/\1/p" /etc/os-release
}

main "$@"
