#!/bin/bash
# usage: nvme_scratch.sh DIR    the instance's own NVMe disks as one file system, for scratch
#
# The disks are empty after each stop of the instance. The Deep Learning AMIs mount them at
# /opt/dlami/nvme by themselves; then nothing is left to do but the directories.
set -euo pipefail
# shellcheck source=assets/node/common.sh
source "$(dirname "$0")/common.sh"

readonly ARRAY=/dev/md/trainshed

main() {
  local dir=$1
  local -a disks
  mkdir -p "$dir"
  # The AMI's own service may still be at it.
  systemctl start dlami-nvme.service 2>/dev/null || true
  if ! mountpoint --quiet "$dir"; then
    mapfile -t disks < <(instance_disks)
    ((${#disks[@]} > 0)) || fail "this instance has no NVMe disk of its own; set nvme_dir to null"
    mount_disks "$dir" "${disks[@]}"
  fi
  make_shared "$dir"
  echo "nvme_scratch: $dir has $(df -h --output=size "$dir" | tail -n 1 | tr -d ' ')"
}

# Everybody writes here, and this runs as root at each change of the fleet: with the sticky bit nobody
# can put a link to a directory of the system in the place of one of these.
make_shared() {
  local dir=$1 name
  install -d -m 1777 "$dir"
  for name in tmp enroot enroot/cache enroot/data enroot/tmp; do
    [[ ! -L $dir/$name ]] || fail "$dir/$name is a link, which is none of ours; see whose it is, and remove it"
    install -d -m 1777 "$dir/$name"
  done
}

instance_disks() {
  local link
  for link in /dev/disk/by-id/nvme-Amazon_EC2_NVMe_Instance_Storage_*; do
    if [[ -e $link && $link != *-part* && $link != *_1 ]]; then
      readlink -f "$link"
    fi
  done | sort -u
}

mount_disks() {
  local dir=$1 device=$2
  shift
  if (($# > 1)); then
    device=$ARRAY
    if [[ ! -e $device ]]; then
      mdadm --create "$device" --run --force --level=0 --raid-devices=$# "$@" >/dev/null
    fi
  fi
  if ! blkid -p "$device" >/dev/null; then
    mkfs.ext4 -q -m 0 -E lazy_itable_init=1,nodiscard "$device"
  fi
  mount -o noatime "$device" "$dir"
}

main "$@"
