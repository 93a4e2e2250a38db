#!/bin/bash
# usage: sandbox.sh ROOT WORK_DIR COMMAND [ARG]...    runs a command on a throw-away copy of a root, without a network
#
# WORK_DIR is at /mnt there; what is written lies in WORK_DIR/upper. In namespaces of its own: run it
# below "unshare --mount --net --pid --fork".
set -euo pipefail

main() {
  local root=$1 work=$2
  shift 2
  mount --make-rprivate /
  mkdir -p "$work"/{upper,overlay,root}
  mount -t overlay -o "lowerdir=$root,upperdir=$work/upper,workdir=$work/overlay" none "$work/root"
  mount --bind "$work" "$work/root/mnt"
  cd "$work/root"
  mount -t proc proc proc
  mount -t tmpfs none dev
  mknod -m 666 dev/null c 1 3
  mknod -m 666 dev/zero c 1 5
  mknod -m 666 dev/urandom c 1 9
  ln -s /proc/self/fd dev/fd
  ln -s fd/0 dev/stdin
  mount -t tmpfs none run
  mount -t tmpfs none tmp
  # What is not installed is not to be had.
  : >etc/apt/sources.list
  exec chroot . "$@"
}

main "$@"
