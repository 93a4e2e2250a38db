#!/bin/bash
# usage: lustre_efa_client.sh [MOUNT_DIR...]
#
# Lets the Lustre client of this node reach an EFA-enabled file system over EFA, with the commands
# of the FSx for Lustre user guide "Configuring EFA clients", read 2026-11-29. Lustre client, EFA
# driver and kefalnd are on the Deep Learning AMIs; nothing is downloaded here.
#
# MOUNT_DIRs that are mounted over TCP are unmounted, and mounted again over EFA. Without this
# script, or when it fails, the file system still works over TCP, slower.
# ROOT_DIR stands before every path that is read or written; empty on a node.
set -euo pipefail

PATH="$PATH:/usr/sbin:/sbin" # where lctl and lnetctl are; not every caller looks there
readonly ROOT_DIR="${ROOT_DIR:-}"
readonly NAME=trainshed-lustre-efa-client
readonly DEVICES="$ROOT_DIR/sys/class/infiniband"
readonly WAIT_SECONDS=15 # p5en shows its EFA devices some seconds after boot
readonly PEER_CREDITS=32
# What AWS's own set-up script asks for before it configures EFA.
readonly MIN_LUSTRE=2.15 MIN_EFA=2.12.1
export LC_ALL=C # one order for interface names, whoever lists them

main() {
  check_versions
  local interfaces
  interfaces=$(chosen_interfaces)
  [[ -n $interfaces ]] || fail "no EFA device on this node after $WAIT_SECONDS s; the instance" \
    "type needs EFA and the launch template an interface of type efa or efa-only"
  install_service
  if [[ $(interfaces_up) == "$interfaces" ]]; then
    echo "lustre_efa_client: already on EFA: $(join "$interfaces")"
  else
    unmount_lustre "$@"
    configure "$interfaces"
    [[ $(interfaces_up) == "$interfaces" ]] || fail "LNet has EFA up on" \
      "$(join "$(interfaces_up)") and not on all of $(join "$interfaces"); see 'dmesg' and" \
      "'lnetctl net show --net efa'"
    echo "lustre_efa_client: on EFA: $(join "$interfaces")"
  fi
  local dir
  for dir in "$@"; do
    check_mount "$dir"
  done
}

check_versions() {
  local command
  [[ $(instance_type) != trn2* ]] || fail "$(instance_type) has no Lustre over EFA; mount over TCP"
  for command in lfs lnetctl modinfo modprobe ip; do
    command -v "$command" >/dev/null || fail "$command is not installed; the Lustre client" \
      "and the EFA driver are on the Deep Learning AMIs"
  done
  modinfo kefalnd >/dev/null 2>&1 || fail "this Lustre client has no EFA module (kefalnd)" \
    "for kernel $(uname -r); use AL2023, RHEL 9.5 or Ubuntu 22.04 with kernel 6.8, or newer"
  local lustre efa
  lustre=$(lfs --version | awk '{print $2}')
  at_least "$lustre" "$MIN_LUSTRE" || fail "Lustre client $lustre is too old; EFA needs $MIN_LUSTRE"
  efa=$(modinfo -F version efa 2>/dev/null | sed 's/[^0-9.].*//') || true
  [[ -n $efa ]] || fail "the EFA driver is not installed"
  at_least "$efa" "$MIN_EFA" || fail "EFA driver $efa is too old; Lustre over EFA needs $MIN_EFA"
}

at_least() {
  [[ $(printf '%s\n' "$1" "$2" | sort -V | sed -n 1p) == "$2" ]]
}

# The interfaces that AWS configures for this instance type, spread evenly over those there are.
chosen_interfaces() {
  local -a all
  wait_for_devices
  mapfile -t all < <(efa_devices)
  local there=${#all[@]} wanted index
  wanted=$(interfaces_wanted "$there")
  if ((wanted == 2 && there > 2)); then
    printf '%s\n' "${all[0]}" "${all[-1]}"
    return
  fi
  for ((index = 0; index < wanted; index++)); do
    printf '%s\n' "${all[index * there / wanted]}"
  done
}

# FSx for Lustre user guide "Configuring EFA clients", step 4: default number of interfaces. Each
# counts against the file system's 1,024 EFA connections.
interfaces_wanted() {
  local there=$1 wanted=2
  case "$(instance_type)" in
  p6-b300.48xlarge) wanted=16 ;;
  p6e-gb200.36xlarge | p6-b200.48xlarge | p5en.48xlarge | p5e.48xlarge | p5.48xlarge) wanted=8 ;;
  esac
  echo $((wanted < there ? wanted : there))
}

instance_type() {
  cat "$ROOT_DIR/sys/class/dmi/id/product_name"
}

efa_devices() {
  local device driver
  for device in "$DEVICES"/*; do
    driver=$(readlink -f "$device/device/driver" 2>/dev/null) || continue
    if [[ ${driver##*/} == efa ]]; then
      echo "${device##*/}"
    fi
  done
}

wait_for_devices() {
  local second
  for ((second = 0; second < WAIT_SECONDS; second++)); do
    [[ -z $(efa_devices) ]] || return 0
    sleep 1
  done
}

interfaces_up() {
  lnetctl net show --net efa 2>/dev/null |
    awk '/status:/ {up = ($2 == "up")} /^ +[0-9]+: / && up {print $2}' | sort
}

# Module options are read when modules are loaded, so what is loaded goes first.
unmount_lustre() {
  local dir
  for dir in "$@"; do
    if is_lustre "$dir"; then
      umount "$dir" || fail "$dir is in use; run this before jobs start, or on a drained node"
    fi
  done
  if awk '$3 == "lustre" {found = 1} END {exit !found}' "$ROOT_DIR/proc/mounts"; then
    fail "a Lustre file system is still mounted at" \
      "$(awk '$3 == "lustre" {print $2}' "$ROOT_DIR/proc/mounts" | paste -s -d ' ');" \
      "give its directory as an argument"
  fi
  if [[ -d $ROOT_DIR/sys/module/lnet ]]; then
    lustre_rmmod || fail "the Lustre modules cannot be unloaded; reboot the node"
  fi
}

configure() {
  local tcp interface
  tcp=$(ip -o -4 route show default | awk '
    {metric = 0; for (i = 1; i < NF; i++) {if ($i == "dev") dev = $(i + 1)
      if ($i == "metric") metric = $(i + 1)}
     if (!best || metric < least) {best = dev; least = metric}}
    END {print best}')
  [[ -n $tcp ]] || fail "no default route, so the interface for TCP is not known"
  modprobe lnet
  modprobe kefalnd "ipif_name=$tcp"
  modprobe ksocklnd
  lnetctl lnet configure
  lnetctl net del --net tcp 2>/dev/null || true
  lnetctl net add --net tcp --if "$tcp"
  while read -r interface; do
    lnetctl net add --net efa --if "$interface" --peer-credits "$PEER_CREDITS" ||
      fail "LNet does not take the EFA interface $interface"
  done <<<"$1"
  lnetctl set discovery 1
  lnetctl udsp add --src efa --priority 0
  modprobe lustre
}

# A node in another zone, or a group that lets no EFA through, falls back to TCP in silence.
check_mount() {
  local dir=$1 before
  is_lustre "$dir" || mount "$dir" || fail "$dir cannot be mounted; is it in /etc/fstab?"
  before=$(messages_sent)
  lfs df "$dir" >/dev/null || fail "$dir does not answer over EFA; the security groups of node and" \
    "file system must allow all traffic between each other, and both stand in one zone"
  if (($(messages_sent) == before)); then
    echo "lustre_efa_client: warning: reading $dir sent nothing over EFA; is the file system" \
      "EFA-enabled and in this zone?" >&2
  fi
}

messages_sent() {
  lnetctl net show --net efa -v | awk '/send_count:/ {sum += $2} END {print sum + 0}'
}

# The same at each boot, before network file systems are mounted.
install_service() {
  local script="$ROOT_DIR/usr/local/sbin/$NAME" unit="$ROOT_DIR/etc/systemd/system/$NAME.service"
  if ! cmp -s "$0" "$script"; then
    install -D -m 0755 "$0" "$script"
  fi
  mkdir -p "${unit%/*}"
  cat >"$unit.new" <<UNIT
[Unit]
Description=Lustre over EFA
Wants=network-online.target remote-fs-pre.target
After=network-online.target
Before=remote-fs-pre.target

[Service]
Type=oneshot
RemainAfterExit=yes
ExecStart=/usr/local/sbin/$NAME

[Install]
WantedBy=multi-user.target
UNIT
  if cmp -s "$unit.new" "$unit"; then
    rm "$unit.new"
  else
    mv "$unit.new" "$unit"
    systemctl daemon-reload
  fi
  systemctl enable --quiet "$NAME.service"
}

is_lustre() {
  [[ $(stat -f -c %T "$1" 2>/dev/null) == lustre ]]
}

join() {
  if [[ -z $1 ]]; then
    echo "no interface"
  else
    paste -s -d ' ' <<<"$1"
  fi
}

fail() {
  echo "lustre_efa_client: $*" >&2
  exit 1
}

main "$@"
