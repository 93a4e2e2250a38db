#!/bin/bash
# usage: install_image.sh LOWER_DIRS PART_DIR PACKAGES_TAR NODE_SCRIPTS_DIR SLURM_VERSION    installs on an overlay, in PART_DIR/upper
#
# In namespaces of its own: run it below "unshare --mount --pid --fork".
set -euo pipefail

main() {
  local lower=$1 part=$2 packages=$3 scripts=$4 version=$5 role
  mount --make-rprivate /
  mkdir -p "$part"/{upper,overlay,root}
  mount -t overlay -o "lowerdir=$lower,upperdir=$part/upper,workdir=$part/overlay" none "$part/root"
  cd "$part/root"
  mount -t proc proc proc
  mount -t tmpfs none dev
  mknod -m 666 dev/null c 1 3
  mknod -m 666 dev/zero c 1 5
  mknod -m 666 dev/urandom c 1 9
  ln -s /proc/self/fd dev/fd
  mount -t tmpfs none run
  mount -t tmpfs none tmp
  mkdir tmp/cache tmp/node
  tar -xf "$packages" -C tmp/cache
  mount --bind "$scripts" tmp/node
  for role in head compute; do
    chroot . /tmp/node/install_packages.sh "$role" "$version" /tmp/cache
  done
}

main "$@"
