#!/bin/bash
# usage: machine_init.sh NAME ADDRESS GPUS WORK_DIR ROOT_DIR LAB_DIR CGROUP    first process of a machine with systemd
#
# Like tests/slurm/lab/machine_init.sh, but the machine has its own disk (an overlay of
# WORK_DIR/NAME/layers, kept over reboots), and ends in a real systemd. cgroup v1 is for Slurm, at
# /srv/cgroup: systemd has the other version to itself.
set -euo pipefail

readonly CONTROLLERS=(cpu cpuacct cpuset memory devices freezer blkio pids)

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
  mkdir -p "$dev/shm" "$dev/pts" "$dev/disk/by-id"
  mount -t tmpfs -o mode=1777 none "$dev/shm"
  mount -t devpts -o newinstance,ptmxmode=0666,mode=620,gid=5 none "$dev/pts"
  ln -s pts/ptmx "$dev/ptmx"
  # NVIDIA's major number without a driver: a GPU of the job answers ENXIO, another one EPERM.
  for ((gpu = 0; gpu < gpus; gpu++)); do
    mknod -m 666 "$dev/nvidia$gpu" c 195 "$gpu"
  done
}

make_root() {
  local machine=$1 root=$1/root
  mkdir -p "$machine/upper" "$machine/overlay" "$root"
  mount -t overlay -o "lowerdir=$(<"$machine/layers"),upperdir=$machine/upper,workdir=$machine/overlay" none "$root"
  mkdir -p "$root"/{proc,sys,dev,run,.old,srv/cgroup,srv/fsx}
  mount -t tmpfs -o mode=755 none "$root/run"
}

mount_cgroups() {
  local root=$1 controller
  mount -t cgroup2 none "$root/sys/fs/cgroup"
  for controller in "${CONTROLLERS[@]}"; do
    mkdir -p "$root/srv/cgroup/$controller"
    mount -t cgroup -o "$controller" none "$root/srv/cgroup/$controller"
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
  ip route add default via 10.77.0.254
}

main() {
  local name=$1 address=$2 gpus=$3 work=$4 cgroup=$7 root
  if [[ ! -v IN_CGROUP ]]; then
    join_cgroups "$cgroup"
    IN_CGROUP=yes exec unshare --cgroup "$0" "$@"
  fi
  root=$work/$name/root
  mount --make-rprivate /
  touch "$work/$name/started"
  plug_in "$address"
  make_root "$work/$name"
  hostname "$(cat "$root/etc/hostname")"
  make_devices "$root/dev" "$gpus"
  mount --bind "$work/fsx" "$root/srv/fsx"
  mount -t proc proc "$root/proc"
  mount -t sysfs sys "$root/sys"
  mount_cgroups "$root"
  cd "$root"
  pivot_root . .old
  cd /
  umount -l /.old
  touch /run/booted
  # Without CAP_SYS_TIME: the clock is the host's.
  exec env -i container=lab PATH=/usr/sbin:/usr/bin:/sbin:/bin setpriv --bounding-set -sys_time \
    /lib/systemd/systemd --log-target=journal --show-status=0
}

main "$@"
