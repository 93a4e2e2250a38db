#!/bin/bash
# usage: check_image.sh KERNEL NVIDIA_DRIVER EFA_INSTALLER    an empty version is not looked at
#
# A node whose kernel, driver or EFA installer are not those that were tried together trains slower,
# or not at all; better that it does not join. One that has joined is held to the lock of then: it has
# the former image until its jobs have ended, and gets what is changed live until then.
set -euo pipefail
# shellcheck source=assets/node/common.sh
source "$(dirname "$0")/common.sh"

readonly JOINED_WITH="${ROOT_DIR:-}/var/lib/trainshed/image-lock"

main() {
  local -a other=() lock=("$@")
  [[ ! -e $JOINED_WITH ]] || mapfile -t lock <"$JOINED_WITH"
  local kernel=${lock[0]} driver=${lock[1]} efa=${lock[2]}
  compare kernel "$kernel" "$(uname -r)"
  compare "NVIDIA driver" "$driver" "$(nvidia_driver)"
  compare "EFA installer" "$efa" "$(efa_installer)"
  ((${#other[@]} == 0)) || fail "this image has $(
    IFS=,
    echo "${other[*]}"
  )"
  printf '%s\n' "${lock[@]}" | write_file "$JOINED_WITH" 0644 root
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
