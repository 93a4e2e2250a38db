#!/bin/bash
# usage: make_disk.sh LOWER_DIRS MOUNT_DIR DISK    makes an ext4 disk of what an overlay shows
#
# In a mount namespace of its own: run it below "unshare --mount".
set -euo pipefail

readonly SIZE_MIB=3000

main() {
  local lower=$1 root=$2 disk=$3
  mkdir -p "$root"
  mount --make-rprivate /
  mount -t overlay -o "lowerdir=$lower" none "$root"
  truncate --size "${SIZE_MIB}M" "$disk.part"
  mke2fs -q -t ext4 -O ^has_journal,^metadata_csum -d "$root" "$disk.part"
  mv "$disk.part" "$disk"
}

main "$@"
