#!/bin/bash
# usage: nvme_scratch.sh DIR    the instance's own NVMe disks as one file system, for scratch
#
# The disks are empty after each stop of the instance, and keep what they have over a reboot. The Deep
# Learning AMIs mount them at /opt/dlami/nvme by themselves; then nothing is left to do but the
# directories.
set -euo pipefail
# shellcheck source=assets/node/common.sh
source "$(dirname "$0")/common.sh"

readonly ARRAY=/dev/md/trainshed NEW=new-scratch-array

main() {
  local dir=$1 device
  local -a disks
  mkdir -p "$dir"
  # The AMI's own service may still be at it.
  systemctl start dlami-nvme.service 2>/dev/null || true
  if ! mountpoint --quiet "$dir"; then
    udevadm settle --timeout=30 2>/dev/null || true
    mapfile -t disks < <(instance_disks)
    ((${#disks[@]} > 0)) || fail "this instance has no NVMe disk of its own; set nvme_dir to null"
    device=$(device_of "${disks[@]}")
    if noted "$NEW"; then
      # What looks like a file system here is a part of one on the disks of before.
      wipefs --quiet --all "$device"
      settle "$NEW"
    fi
    make_file_system "$device"
    mount -o noatime "$device" "$dir" || fail "$device cannot be mounted at $dir; see dmesg"
  fi
  settle "$NEW"
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
    if [[ -e $link && $link != *-part* ]]; then
      readlink -f "$link"
    fi
  done | sort -u
}

# Prints one device that has all the disks: what holds them since the last boot, ours or the image's
# own volume, or else a new array.
device_of() {
  local disk holder
  local -a holders
  mapfile -t holders < <(for disk in "$@"; do holders_of "$disk"; done | sort -u)
  if ((${#holders[@]} == 0)); then
    new_device "$@"
    return
  fi
  holder=${holders[0]}
  if ((${#holders[@]} == 1)) && holds_all "$holder" "$@"; then
    echo "/dev/$holder"
    return
  fi
  for holder in "${holders[@]}"; do
    # What is left of an array that lost a disk: it cannot run, and its data cannot be had.
    [[ $holder == md* && $(<"/sys/class/block/$holder/md/array_state") == inactive ]] ||
      fail "$holder uses some of the instance's NVMe disks ($*) and not all; free them, or set nvme_dir to null"
    mdadm --quiet --stop "/dev/$holder" || fail "the rest of an array, $holder, cannot be stopped"
  done
  new_device "$@"
}

holders_of() {
  local holder
  for holder in "/sys/class/block/${1##*/}/holders"/*; do
    if [[ -e $holder ]]; then
      echo "${holder##*/}"
    fi
  done
}

# An array that runs; one that cannot has its members too.
holds_all() {
  local holder=$1 disk
  shift
  [[ $holder != md* || $(<"/sys/class/block/$holder/md/array_state") != inactive ]] || return 1
  for disk in "$@"; do
    [[ -e /sys/class/block/${disk##*/}/holders/$holder ]] || return 1
  done
}

new_device() {
  if (($# == 1)); then
    echo "$1"
    return
  fi
  command -v mdadm >/dev/null || fail "mdadm is not installed; the $# NVMe disks cannot be joined"
  # After a reboot the array of before, which udev need not have put together.
  if ! mdadm --quiet --assemble "$ARRAY" "$@" 2>/dev/null; then
    mdadm --quiet --stop "$ARRAY" 2>/dev/null || true
    make_note "$NEW"
    mdadm --quiet --create "$ARRAY" --run --force --level=0 --raid-devices=$# "$@" >&2 ||
      fail "mdadm cannot join the NVMe disks $*, see above"
  fi
  readlink -f "$ARRAY"
}

# Another's file system is not ours to format, even here.
make_file_system() {
  local device=$1 found
  found=$(blkid -p -o value -s TYPE -s PTTYPE "$device" | paste -s -d ' ') || true
  case $found in
  ext4 | xfs) ;;
  "" | linux_raid_member | LVM2_member)
    mkfs.ext4 -q -F -m 0 -E lazy_itable_init=1,nodiscard "$device" || fail "$device cannot be formatted"
    ;;
  *) fail "$device has $found on it, which is none of ours; empty it with wipefs, or set nvme_dir to null" ;;
  esac
}

main "$@"
