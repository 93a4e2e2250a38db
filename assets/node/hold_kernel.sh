#!/bin/bash
# usage: hold_kernel.sh
#
# Holds the packages that have to fit each other: kernel, NVIDIA driver, EFA and Lustre client. An
# upgrade of the kernel alone leaves a node without its file system after the next reboot
# (aws/aws-parallelcluster#2095).
# ROOT_DIR stands before every path that is written; empty on a node.
set -euo pipefail

readonly ROOT_DIR="${ROOT_DIR:-}"
readonly DEB_NAMES='^(linux-(aws|image|headers|modules|tools)|nvidia-|libnvidia-|cuda-drivers|efa|lustre-client)'
readonly RPM_NAMES='kernel kernel-* kernel6* nvidia-* kmod-nvidia* cuda-drivers* efa* kmod-lustre* lustre-client*'

main() {
  if command -v apt-mark >/dev/null; then
    hold_deb
  elif command -v dnf >/dev/null; then
    hold_rpm
  else
    fail "neither apt nor dnf is on this node"
  fi
}

hold_deb() {
  local -a names free
  mapfile -t names < <(dpkg-query -W -f '${db:Status-Abbrev} ${Package}\n' |
    awk -v names="$DEB_NAMES" '$1 ~ /^.i/ && $2 ~ names { print $2 }')
  ((${#names[@]} > 0)) || fail "no kernel package is installed"
  # apt writes its files anew even for what is held already.
  mapfile -t free < <(printf '%s\n' "${names[@]}" | grep -vxF -f <(apt-mark showhold))
  if ((${#free[@]} > 0)); then
    apt-mark hold "${free[@]}" >/dev/null
  fi
  echo "hold_kernel: ${#names[@]} packages are held"
}

# dnf's versionlock is a plugin that images need not have; this setting is dnf's own.
hold_rpm() {
  local file="$ROOT_DIR/etc/dnf/dnf.conf" line="excludepkgs=$RPM_NAMES"
  [[ -f $file ]] || fail "$file is not there"
  if ! grep -qxF "$line" "$file"; then
    sed -i "/^\[main\]/a $line" "$file"
  fi
  grep -qxF "$line" "$file" || fail "$file has no section [main]"
  echo "hold_kernel: dnf leaves alone $RPM_NAMES"
}

fail() {
  echo "hold_kernel: $*" >&2
  exit 1
}

main "$@"
