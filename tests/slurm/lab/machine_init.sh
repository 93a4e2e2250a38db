#!/bin/bash
# usage: machine_init.sh KIND NAME ADDRESS GPUS WORK_DIR ROOT_DIR LAB_DIR CGROUP    first process of one machine
#
# A machine has its own network, host name, processes, mounts, devices and cgroups. KIND is one of
#   daemons  programs of ROOT_DIR, / for the host's own; the lab starts its daemons
#   systemd  a disk of its own, an overlay of WORK_DIR/NAME/layers that is kept over reboots, and a real systemd
#   nspawn   the same disk and systemd, in a container of systemd-nspawn
set -euo pipefail

readonly CONTROLLERS=(cpu cpuacct cpuset memory devices freezer blkio pids) GATEWAY=10.77.0.254

main() {
  local kind=$1
  shift
  if [[ ! -v IN_CGROUP ]]; then
    join_cgroups "$7"
    # systemd-nspawn has to see its own place among the cgroups, and makes the namespace itself.
    [[ $kind == nspawn ]] || IN_CGROUP=yes exec unshare --cgroup "$0" "$kind" "$@"
  fi
  mount --make-rprivate /
  touch "$4/$1/started"
  plug_in "$2"
  "become_$kind" "$@"
}

join_cgroups() {
  local cgroup=$1 controller dir
  for controller in "${CONTROLLERS[@]}" unified; do
    dir=/sys/fs/cgroup/$controller/$cgroup
    mkdir -p "$dir"
    if [[ $controller == cpuset ]]; then
      cat /sys/fs/cgroup/cpuset/cpuset.cpus >"$dir/cpuset.cpus"
      cat /sys/fs/cgroup/cpuset/cpuset.mems >"$dir/cpuset.mems"
    fi
    echo $$ >"$dir/cgroup.procs"
  done
}

plug_in() {
  local address=$1
  # The network card is put in by the lab, from outside.
  while ! ip link show eth0 >/dev/null 2>&1; do
    sleep 0.02
  done
  ip link set lo up
  ip address add "$address/24" dev eth0
  ip link set eth0 up
}

become_daemons() {
  local name=$1 gpus=$3 work=$4 root=${5%/} lab=$6 devices
  hostname "$name"
  # Slurm 22.05 waits for acknowledgements that Linux delays by 40 ms, nine times in each sacctmgr.
  ip route change table local local 127.0.0.0/8 dev lo src 127.0.0.1 quickack 1
  ip route change table local local 127.0.0.1 dev lo src 127.0.0.1 quickack 1
  if [[ -n $root ]]; then
    mount --bind "$root" "$root"
    mkdir -p "$root/sys" "$root/.old"
    mount --rbind /sys "$root/sys"
  fi
  devices=$(mktemp -d)
  make_devices "$devices" "$gpus"
  mount_files "$root" "$work" "$name" "$lab"
  mount --move "$devices" "$root/dev"
  mount -t proc proc "$root/proc"
  mount -t tmpfs -o mode=755 none "$root/sys/fs/cgroup"
  mount_controllers "$root/sys/fs/cgroup"
  mkdir "$root/sys/fs/cgroup/systemd"
  mount -t cgroup -o none,name=systemd none "$root/sys/fs/cgroup/systemd"
  if [[ -n $root ]]; then
    move_to "$root"
  fi
  touch /run/booted
  while true; do
    sleep 3600 &
    wait $!
  done
}

become_systemd() {
  local name=$1 gpus=$3 work=$4 root=$4/$1/root
  ip route add default via "$GATEWAY"
  make_disk "$work/$name"
  mount -t tmpfs -o mode=755 none "$root/run"
  hostname "$(<"$root/etc/hostname")"
  make_devices "$root/dev" "$gpus"
  mount --bind "$work/fsx" "$root/srv/fsx"
  mount -t proc proc "$root/proc"
  mount -t sysfs sys "$root/sys"
  # Version 1 is for Slurm: systemd has the other one to itself.
  mount -t cgroup2 none "$root/sys/fs/cgroup"
  mount_controllers "$root/srv/cgroup"
  move_to "$root"
  touch /run/booted
  # Without CAP_SYS_TIME: the clock is the host's.
  exec env -i container=lab PATH=/usr/sbin:/usr/bin:/sbin:/bin setpriv --bounding-set -sys_time \
    /lib/systemd/systemd --log-target=journal --show-status=0
}

become_nspawn() {
  local name=$1 gpus=$3 work=$4 cgroup=$7 root=$4/$1/root devices=$4/$1/devices controller gpu
  local -a options=(--quiet --register=no --keep-unit --machine="$name" --directory="$root"
    --hostname="$(<"$work/$name/upper/etc/hostname")" --network-namespace-path=/proc/self/ns/net
    --capability=CAP_NET_ADMIN --resolv-conf=off --timezone=off --link-journal=no
    --bind="$work/fsx:/srv/fsx" --bind="$work/$name/cgroup:/srv/cgroup")
  ip route add default via "$GATEWAY"
  mount -t proc proc /proc
  make_disk "$work/$name"
  for controller in "${CONTROLLERS[@]}"; do
    mkdir -p "$work/$name/cgroup/$controller"
    mount --bind "/sys/fs/cgroup/$controller/$cgroup" "$work/$name/cgroup/$controller"
  done
  rm -rf "$devices"
  mkdir "$devices"
  make_gpus "$devices" "$gpus"
  for ((gpu = 0; gpu < gpus; gpu++)); do
    options+=("--bind=$devices/nvidia$gpu:/dev/nvidia$gpu")
  done
  exec env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin UNIFIED_CGROUP_HIERARCHY=1 SYSTEMD_NSPAWN_LOCK=0 \
    systemd-nspawn "${options[@]}" --boot -- --log-target=journal --show-status=0
}

make_disk() {
  local machine=$1 root=$1/root
  mkdir -p "$machine/upper" "$machine/overlay" "$root"
  mount -t overlay -o "lowerdir=$(<"$machine/layers"),upperdir=$machine/upper,workdir=$machine/overlay" none "$root"
  mkdir -p "$root"/{proc,sys,dev,run,.old,srv/cgroup,srv/fsx}
}

make_devices() {
  local dev=$1 gpus=$2
  mount -t tmpfs -o mode=755 none "$dev"
  mknod -m 666 "$dev/null" c 1 3
  mknod -m 666 "$dev/zero" c 1 5
  mknod -m 666 "$dev/full" c 1 7
  mknod -m 666 "$dev/random" c 1 8
  mknod -m 666 "$dev/urandom" c 1 9
  mknod -m 666 "$dev/tty" c 5 0
  ln -s /proc/self/fd "$dev/fd"
  ln -s fd/0 "$dev/stdin"
  ln -s fd/1 "$dev/stdout"
  ln -s fd/2 "$dev/stderr"
  mkdir -p "$dev/shm" "$dev/pts" "$dev/disk/by-id"
  mount -t tmpfs -o mode=1777 none "$dev/shm"
  mount -t devpts -o newinstance,ptmxmode=0666,mode=620,gid=5 none "$dev/pts"
  ln -s pts/ptmx "$dev/ptmx"
  make_gpus "$dev" "$gpus"
}

# NVIDIA's major number without a driver: a GPU of the job answers ENXIO, another one EPERM.
make_gpus() {
  local dev=$1 gpus=$2 gpu
  for ((gpu = 0; gpu < gpus; gpu++)); do
    mknod -m 666 "$dev/nvidia$gpu" c 195 "$gpu"
  done
}

mount_files() {
  local root=$1 work=$2 name=$3 lab=$4 file
  mkdir -p "$root"/{etc/slurm,etc/munge,var/log/slurm,var/spool,var/lib/slurm,run,home}
  mount -t tmpfs -o mode=755 none "$root/run"
  mkdir -p "$root"/run/{lab,node,munge,mysqld,lock}
  ln -s mysqld "$root/run/mariadbd"
  mount --bind "$lab" "$root/run/lab"
  # What real nodes run.
  mount --bind "$lab/../../../assets/node" "$root/run/node"
  mount --bind "$work/etc" "$root/etc/slurm"
  mount --bind "$work/munge" "$root/etc/munge"
  mount --bind "$work/home" "$root/home"
  mount --bind "$work/$name/log" "$root/var/log/slurm"
  mount --bind "$work/$name/spool" "$root/var/spool"
  mount --bind "$work/$name/lib" "$root/var/lib/slurm"
  for file in hosts passwd group; do
    touch "$root/etc/$file"
    mount --bind "$work/$file" "$root/etc/$file"
  done
}

mount_controllers() {
  local dir=$1 controller
  for controller in "${CONTROLLERS[@]}"; do
    mkdir -p "$dir/$controller"
    mount -t cgroup -o "$controller" none "$dir/$controller"
  done
}

move_to() {
  cd "$1"
  # pivot_root and not chroot, which may not make user namespaces.
  pivot_root . .old
  cd /
  umount -l /.old
}

main "$@"
