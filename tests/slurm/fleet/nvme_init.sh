#!/bin/bash
# usage: nvme_init.sh    first process of a virtual machine: gives its disks the names of EC2's, runs /lab/script.sh, ends
#
# Nothing else runs on it, udev neither: what is joined after a reboot is joined by the script itself.
set -uo pipefail

main() {
  local disk number=0
  export PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin MDADM_NO_UDEV=1 LC_ALL=C
  mount -t proc proc /proc
  mount -t sysfs sys /sys
  mount -t devtmpfs dev /dev
  ln -s /proc/self/fd /dev/fd
  mount -t tmpfs none /run
  insmod /lab/modules/md-mod.ko
  insmod /lab/modules/raid0.ko
  mkdir -p /dev/disk/by-id /dev/md
  for disk in /dev/ubd[b-z]; do
    [[ -e $disk ]] || continue
    number=$((number + 1))
    # Newer udev has each disk twice, with its namespace.
    ln -s "$disk" "/dev/disk/by-id/nvme-Amazon_EC2_NVMe_Instance_Storage_AWS00$number"
    ln -s "$disk" "/dev/disk/by-id/nvme-Amazon_EC2_NVMe_Instance_Storage_AWS00${number}_1"
  done
  bash -eux /lab/script.sh >/lab/said 2>&1 </dev/null
  echo "rc=$?" >>/lab/said
  umount -a -t ext4
  echo o >/proc/sysrq-trigger
  sleep 60
}

main "$@"
