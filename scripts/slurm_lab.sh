#!/usr/bin/env bash
# usage: slurm_lab.sh [trixie|sid|fleet]...   (default: trixie fleet) installs what tests/slurm needs; root on Debian 12
#
# Slurm 22.05 comes from Debian 12 itself. Every suite named becomes a root directory under
# .cache/slurm: trixie has Slurm 24.11, sid has 26.05. tests/slurm/fleet boots machines of their own:
# root-fleet is what an image of AWS is there, packages.tar what assets/node/package_cache.sh makes
# of it. For fleet alone, nothing is installed outside .cache but a missing iproute2. A second run
# changes nothing; one that comes while another runs waits for it.
set -euo pipefail

readonly HOST_PACKAGES=(
  slurmctld slurmd slurmdbd slurm-client slurm-wlm-basic-plugins slurm-wlm-mysql-plugin
  munge mariadb-server mariadb-client iproute2 libpmix2 mmdebstrap openssl util-linux
  user-mode-linux systemd-container dnsmasq-base e2fsprogs gnupg
)
readonly ROOT_PACKAGES=(
  ca-certificates mount slurmctld slurmd slurmdbd slurm-client slurm-wlm-basic-plugins
  slurm-wlm-mysql-plugin munge iproute2 procps hostname python3
  mariadb-server mariadb-client libpmix2
)

# An image as it comes: no Slurm on it, but what the boot expects of a Deep Learning AMI.
readonly FLEET_PACKAGES=(
  ca-certificates systemd systemd-sysv dbus udev kmod mount iproute2 procps hostname util-linux
  python3 python3-boto3 awscli cloud-init chrony iptables jq curl netbase passwd e2fsprogs mdadm
  isc-dhcp-client ifupdown
)
readonly FLEET_SLURM=24.11

# Where assets/node/build_containers.sh finds all that it installs: the headers of 22.05 and of 24.11.
# logrotate is on AWS's images.
readonly BUILD_SUITES=(bookworm trixie)
readonly BUILD_PACKAGES=(
  ca-certificates git gcc make libc6-dev libtool autoconf automake pkg-config libmd-dev libslurm-dev
  slurm-client logrotate
)

# What a fleet's image and machines need of this one, beside what every Debian has.
readonly FLEET_HOST_PACKAGES=(iproute2)

install_host_packages() {
  local missing
  missing=$(comm -23 <(printf '%s\n' "$@" | sort) \
    <(dpkg-query --show --showformat '${db:Status-Abbrev}${Package}\n' | sed -n 's/^ii //p' | sort))
  if [[ -z $missing ]]; then
    return
  fi
  if [[ $missing != "${FLEET_HOST_PACKAGES[*]}" ]]; then
    forbid_service_starts
  fi
  # After one that was interrupted.
  DEBIAN_FRONTEND=noninteractive dpkg --configure --pending
  apt-get update --quiet=2
  # shellcheck disable=SC2086 # one package a word
  DEBIAN_FRONTEND=noninteractive apt-get install --yes --quiet=2 --no-install-recommends $missing
}

# The tests start their own daemons; the packages must not start any.
forbid_service_starts() {
  if [[ ! -e /usr/sbin/policy-rc.d ]]; then
    printf '#!/bin/sh\nexit 101\n' >/usr/sbin/policy-rc.d
    chmod 755 /usr/sbin/policy-rc.d
  fi
}

# Unpacked and not installed: what only looks at this project changes nothing of its machine.
unpack_mmdebstrap() {
  local tools=$1
  rm -rf "$tools"
  mkdir -p "$tools"
  apt-get update --quiet=2
  (cd "$tools" && apt-get download --quiet=2 mmdebstrap 2>/dev/null && dpkg-deb --extract mmdebstrap_*.deb .)
}

# In a mount namespace of its own: what mmdebstrap mounts in the new root is gone with it, however
# it ends, and no later run finds it there.
debootstrap() {
  unshare --mount mmdebstrap --quiet --variant=apt "$@"
}

build_fleet_root() {
  local root=$1
  rm -rf "$root.part"
  debootstrap --include="$(
    IFS=,
    echo "${FLEET_PACKAGES[*]}"
  )" trixie "$root.part"
  echo "${FLEET_PACKAGES[*]}" >"$root.part/packages"
  rm -rf "$root"
  mv "$root.part" "$root"
}

# With the script that ships, in the image, on this machine's network. Runs in namespaces of its own.
build_package_cache() {
  local root=$1 scripts=$2 out=$3
  mount --make-rprivate /
  mount --bind "$root" "$root"
  mount -t proc proc "$root/proc"
  mount --bind /dev "$root/dev"
  mount -t tmpfs none "$root/run"
  mkdir "$root/run/node"
  mount --bind "$scripts" "$root/run/node"
  # How this machine reaches the mirror is its own; the image does not keep it.
  touch "$root/etc/resolv.conf"
  mount --bind /etc/resolv.conf "$root/etc/resolv.conf"
  mount --bind /etc/apt/apt.conf.d "$root/etc/apt/apt.conf.d"
  chroot "$root" /run/node/package_cache.sh /tmp/packages.tar "$FLEET_SLURM"
  mv "$root/tmp/packages.tar" "$out"
}

# The finished root appears under its name at once, so an interrupted run leaves none half made.
build_root() {
  local suite=$1 root=$2
  shift 2
  if [[ -e $root/packages && $(<"$root/packages") == "$*" ]]; then
    return
  fi
  local options=(--include="$(
    IFS=,
    echo "$*"
  )")
  if [[ $suite == sid ]]; then
    # Mirrors may lag behind sid's Valid-Until; the signature is still checked.
    options+=('--aptopt=Acquire::Check-Valid-Until "false"')
  fi
  rm -rf "$root.part"
  debootstrap "${options[@]}" "$suite" "$root.part"
  echo "$*" >"$root.part/packages"
  rm -rf "$root"
  mv "$root.part" "$root"
}

main() {
  if [[ ${1:-} == --build-package-cache ]]; then
    build_package_cache "${@:2}"
    return
  fi
  local cache suite root scripts role wanted
  cache=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)/.cache/slurm
  if [[ $(id -u) -ne 0 ]]; then
    echo "slurm_lab.sh: run it as root, it installs packages and makes device nodes" >&2
    return 1
  fi
  if [[ $# -eq 0 ]]; then
    set -- trixie fleet
  fi
  mkdir -p "$cache"
  exec 9>"$cache/lab.lock"
  flock 9
  if [[ $* == fleet ]]; then
    install_host_packages "${FLEET_HOST_PACKAGES[@]}"
    PATH=$PATH:$cache/tools/usr/bin
    command -v mmdebstrap >/dev/null || unpack_mmdebstrap "$cache/tools"
  else
    install_host_packages "${HOST_PACKAGES[@]}"
  fi
  for suite in "$@"; do
    case $suite in
    trixie | sid) ;;
    fleet) continue ;;
    *)
      echo "slurm_lab.sh: suite is $suite; use trixie, sid or fleet" >&2
      return 2
      ;;
    esac
    root=$cache/root-$suite
    build_root "$suite" "$root" "${ROOT_PACKAGES[@]}"
    echo "slurm_lab.sh: $suite is ready in $root"
  done
  if [[ $* != fleet ]]; then
    for suite in "${BUILD_SUITES[@]}"; do
      build_root "$suite" "$cache/root-build-$suite" "${BUILD_PACKAGES[@]}"
    done
  fi
  root=$cache/root-fleet
  if [[ ! -e $root/packages || $(<"$root/packages") != "${FLEET_PACKAGES[*]}" ]]; then
    build_fleet_root "$root"
    rm -f "$cache/packages.tar"
  fi
  scripts=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)/assets/node
  wanted=$(for role in head compute login; do "$scripts/install_packages.sh" --list "$role"; done)
  if [[ ! -e $cache/packages.tar || $(<"$cache/packages.list") != "$wanted" ]]; then
    # The copy is not made at once: nothing says of half of one that it is whole.
    rm -f "$cache/packages.list"
    unshare --mount --pid --fork "$0" --build-package-cache "$root" "$scripts" "$cache/packages.tar"
    echo "$wanted" >"$cache/packages.list"
  fi
  echo "slurm_lab.sh: the fleet's image is ready in $root"
}

main "$@"
