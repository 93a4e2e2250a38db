#!/bin/bash
# usage: mount_lustre.sh DIR DNS_NAME MOUNT_NAME [efa]    mounts FSx for Lustre, over EFA where asked
#
# FSx for Lustre user guide "Mounting from an Amazon EC2 instance", read 2026-11-29.
set -euo pipefail
# shellcheck source=assets/node/common.sh
source "$(dirname "$0")/common.sh"

readonly MOUNT_SECONDS=120

main() {
  local dir=$1 source=$2@tcp:/$3 here
  here=$(dirname "$0")
  mkdir -p "$dir"
  "$here/lustre_client.sh"
  write_entry "$source" "$dir"
  "$here/lustre_tuning.sh" "$dir"
  # A file system that cannot be reached over EFA works over TCP, slower.
  if [[ ${4:-} == efa ]]; then
    "$here/lustre_efa_client.sh" "$dir" || echo "mount_lustre: $dir stays on TCP, see above" >&2
  fi
  if ! mountpoint --quiet "$dir"; then
    timeout "$MOUNT_SECONDS" mount "$dir" || fail "$source cannot be mounted at $dir"
    "$here/lustre_tuning.sh" "$dir"
  fi
  timeout 30 ls "$dir" >/dev/null || fail "$dir is mounted, but $2 does not answer"
  echo "mount_lustre: $dir is $source"
}

# noauto: the boot mounts it, each time, and says so when it cannot.
write_entry() {
  local entry="$1 $2 lustre noauto,noatime,flock,_netdev 0 0" others
  if ! grep -qxF "$entry" /etc/fstab 2>/dev/null; then
    others=$(awk -v dir="$2" '$2 != dir' /etc/fstab 2>/dev/null || true)
    printf '%s\n' ${others:+"$others"} "$entry" | write_file /etc/fstab 0644 root fstab
  fi
  if noted fstab; then
    systemctl daemon-reload
    settle fstab
  fi
}

main "$@"
