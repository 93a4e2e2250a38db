#!/bin/bash
# usage: check_image.sh KERNEL NVIDIA_DRIVER EFA_INSTALLER    an empty version is not looked at
#
# A node whose kernel, driver or EFA installer are not those that were tried together trains slower,
# or not at all; better that it does not join.
set -euo pipefail
# shellcheck source=assets/node/common.sh
source "$(dirname "$0")/common.sh"

main() {
  local kernel=$1 driver=$2 efa=$3
  local -a other=()
  compare kernel "$kernel" "$(uname -r)"
  compare "NVIDIA driver" "$driver" "$(nvidia_driver)"
  compare "EFA installer" "$efa" "$(efa_installer)"
  ((${#other[@]} == 0)) || fail "this image has $(
    IFS=,
    echo "${other[*]}"
  )"
  echo "check_image: as the lock says"
}

compare() {
  local what=$1 wanted=$2 found=$3
  if [[ -n $wanted && $wanted != "$found" ]]; then
    other+=("${other[*]:+ }$what ${found:-none} and not $wanted")
  fi
}

nvidia_driver() {
  sed -n 's/^NVRM version:.* \([0-9][0-9.]*\)  .*/\1/p' /proc/driver/nvidia/version 2>/dev/null || true
}

efa_installer() {
  sed -n 's/^.*EFA installer version: *\([0-9.]*\).*/\1/p' /opt/amazon/efa_installed_packages 2>/dev/null || true
}

main "$@"
