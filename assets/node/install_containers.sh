#!/bin/bash
# usage: install_containers.sh [CACHE_DIR]    Enroot, and Pyxis that fits this node's Slurm
#
# From the package cache, or built on the node. slurmd does not start with a plugin of another Slurm
# version, so that is found out here.
# ROOT_DIR stands before the kernel's settings; empty on a node.
set -euo pipefail
# shellcheck source=assets/node/common.sh
source "$(dirname "$0")/common.sh"

readonly POLICY=/etc/trainshed/files/policy.json
readonly BUILT=/opt/trainshed/containers PLUGIN=/usr/local/lib/slurm/spank_pyxis.so
readonly NEEDED=(squashfs-tools jq parallel curl zstd)

main() {
  local from=${1:+$1/containers} found wanted name
  # shellcheck disable=SC2016 # dpkg-query's own variable
  wanted=$(dpkg-query -W -f '${Version}' slurm-client | sed -E 's/^([0-9]+\.[0-9]+).*/\1/')
  if [[ -z $from ]]; then
    from=$BUILT
    [[ -e $from/slurm-version && $(<"$from/slurm-version") == "$wanted" ]] ||
      "$(dirname "$0")/build_containers.sh" "$from"
  fi
  [[ -e $from/slurm-version ]] ||
    fail "the package cache has no containers; make it with build_containers.sh, or set fleet.slurm.containers to false"
  found=$(<"$from/slurm-version")
  [[ $found == "$wanted" ]] || fail "Pyxis was built for Slurm $found, this node has $wanted; build it again"
  for name in "${NEEDED[@]}"; do
    [[ $(dpkg-query -W -f '${db:Status-Abbrev}' "$name" 2>/dev/null) == ?i\ * ]] ||
      fail "$name is not installed; Enroot needs it at run time"
  done
  (cd "$from/root" && find . \( -type f -o -type l \) -printf '%P\0') | copy_new "$from/root"
  # Importing images as a user needs these two programs to mount.
  setcap cap_sys_admin+pe /usr/bin/enroot-mksquashovlfs
  setcap cap_sys_admin,cap_mknod+pe /usr/bin/enroot-aufs2ovlfs
  allow_namespaces
  enable_pmi
  write_configuration
  echo "install_containers: Enroot, and $PLUGIN for Slurm $found"
}

copy_new() {
  local name
  while read -r -d '' name; do
    if ! cmp -s "$1/$name" "/$name"; then
      mkdir -p "/$(dirname "$name")"
      # In place with its mode, or not at all.
      cp --no-dereference --preserve=mode --remove-destination "$1/$name" "/$name.new"
      mv -T "/$name.new" "/$name"
    fi
  done
}

# Ubuntu 24.04 lets a user's program make no namespaces without a profile (Enroot's requirements.md).
allow_namespaces() {
  local setting=${ROOT_DIR:-}/proc/sys/kernel/apparmor_restrict_unprivileged_userns
  local profile=/usr/share/enroot/apparmor.profile
  if [[ -e $setting && $(<"$setting") != 0 ]]; then
    [[ -e $profile ]] || fail "this kernel lets users make no namespaces, and Enroot has no profile for it; build it again"
    write_file /etc/apparmor.d/enroot 0644 root <"$profile"
    apparmor_parser --replace /etc/apparmor.d/enroot || fail "AppArmor does not take Enroot's profile, see above"
  fi
}

# Enroot's own hook, which is off as it comes: it takes Slurm's PMIx into the container.
enable_pmi() {
  local hook=/usr/share/enroot/hooks.d/50-slurm-pmi.sh
  if [[ -e $hook && ! -e /etc/enroot/hooks.d/${hook##*/} ]]; then
    ln -s "$hook" "/etc/enroot/hooks.d/${hook##*/}"
  fi
}

directories_of_users() {
  python3 -c '
import json, sys
for user in json.load(open(sys.argv[1]))["users"].values():
    if (uid := user.get("uid")) is not None:
        for place in ("/run/enroot", f"{sys.argv[2]}/cache", f"{sys.argv[2]}/data"):
            print(f"d {place}/user-{uid} 0700 {uid} {uid}")' "$POLICY" "$1"
}

# Images are unpacked on the node's own disks where it has some: /run and /tmp fill up.
write_configuration() {
  local scratch=/var/lib/enroot users
  if mountpoint --quiet /opt/dlami/nvme; then
    scratch=/opt/dlami/nvme/enroot
  fi
  write_file /etc/enroot/enroot.conf.d/trainshed.conf 0644 root <<CONF
ENROOT_RUNTIME_PATH /run/enroot/user-\$(id -u)
ENROOT_CACHE_PATH $scratch/cache/user-\$(id -u)
ENROOT_DATA_PATH $scratch/data/user-\$(id -u)
ENROOT_TEMP_PATH $scratch/tmp
CONF
  users=$(directories_of_users "$scratch") || fail "$POLICY cannot be read, see above"
  # Each user's directories are made here: in one that all may write to, another could make them
  # first and change what runs in the containers.
  write_file /etc/tmpfiles.d/trainshed-enroot.conf 0644 root <<CONF
d /run/enroot 0755 root root
d /run/pyxis 1777 root root
d $scratch 0755 root root
d $scratch/cache 0755 root root
d $scratch/data 0755 root root
d $scratch/tmp 1777 root root
$users
CONF
  systemd-tmpfiles --create /etc/tmpfiles.d/trainshed-enroot.conf
}

main "$@"
