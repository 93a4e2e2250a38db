#!/bin/bash
# usage: machine_init.sh NAME ADDRESS GPUS WORK_DIR ROOT_DIR LAB_DIR CGROUP    first process of one machine
#
# A machine has its own network, host name, processes, mounts, devices and cgroups. ROOT_DIR is the
# root of its programs: / for the host's own.
set -euo pipefail

readonly CONTROLLERS=(cpu cpuacct cpuset memory devices freezer blkio pids)

join_cgroups() {
  local cgroup=$1 controller dir
  for controller in "${CONTROLLERS[@]}"; do
    dir=/sys/fs/cgroup/$controller/$cgroup
    mkdir -p "$dir"
    if [[ $controller == cpuset ]]; then
      cat /sys/fs/cgroup/cpuset/cpuset.cpus >"$dir/cpuset.cpus"
      cat /sys/fs/cgroup/cpuset/cpuset.mems >"$dir/cpuset.mems"
    fi
    echo $$ >"$dir/cgroup.procs"
  done
}

make_devices() {
  local dev=$1 gpus=$2 gpu
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
  mkdir "$dev/shm" "$dev/pts"
  mount -t tmpfs -o mode=1777 none "$dev/shm"
  mount -t devpts -o newinstance,ptmxmode=0666,mode=620,gid=5 none "$dev/pts"
  ln -s pts/ptmx "$dev/ptmx"
  # NVIDIA's major number without a driver: a GPU of the job answers ENXIO, another one EPERM.
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

mount_cgroups() {
  local root=$1 controller
  mount -t tmpfs -o mode=755 none "$root/sys/fs/cgroup"
  for controller in "${CONTROLLERS[@]}"; do
    mkdir "$root/sys/fs/cgroup/$controller"
    mount -t cgroup -o "$controller" none "$root/sys/fs/cgroup/$controller"
  done
  mkdir "$root/sys/fs/cgroup/systemd"
  mount -t cgroup -o none,name=systemd none "$root/sys/fs/cgroup/systemd"
}

main() {
  local name=$1 address=$2 gpus=$3 work=$4 root=${5%/} lab=$6 cgroup=$7 devices
  if [[ ! -v IN_CGROUP ]]; then
    join_cgroups "$cgroup"
    IN_CGROUP=yes exec unshare --cgroup "$0" "$@"
  fi
  mount --make-rprivate /
  hostname "$name"
  touch "$work/$name/started"
  # The network card is put in by the lab, from outside.
  while ! ip link show eth0 >/dev/null 2>&1; do
    sleep 0.02
  done
  ip link set lo up
  # Slurm 22.05 waits for acknowledgements that Linux delays by 40 ms, nine times in each sacctmgr.
  ip route change table local local 127.0.0.0/8 dev lo src 127.0.0.1 quickack 1
  ip route change table local local 127.0.0.1 dev lo src 127.0.0.1 quickack 1
  ip address add "$address/24" dev eth0
  ip link set eth0 up
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
  mount_cgroups "$root"
  if [[ -n $root ]]; then
    cd "$root"
    # pivot_root and not chroot, which may not make user namespaces.
    pivot_root . .old
    cd /
    umount -l /.old
  fi
  touch /run/booted
  while true; do
    sleep 3600 &
    wait $!
  done
}

main "$@"
