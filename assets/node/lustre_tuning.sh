#!/bin/bash
# usage: lustre_tuning.sh MOUNT_DIR...
#
# Client settings that AWS documents for FSx for Lustre, not a measurement of ours:
# FSx for Lustre user guide "Performance tips", read 2026-11-29. (The EKS user guide's page on
# tuning has 64 for ptlrpcd_per_cpt_max and caps the client's cache at 64 MB; the FSx guide and
# AWS's own EFA client set-up have 32 and no cap, which a training set that is read again needs.)
#
# Module options are in force from the next load of the Lustre modules, so run this before
# lustre_efa_client.sh. The rest holds only while mounted: a systemd service repeats it at boot.
# ROOT_DIR stands before every path that is read or written; empty on a node.
set -euo pipefail

PATH="$PATH:/usr/sbin:/sbin" # where lctl and lnetctl are; not every caller looks there
readonly ROOT_DIR="${ROOT_DIR:-}"
readonly NAME=trainshed-lustre-tuning
readonly LARGE_CPUS=64       # "more than 64 vCPU cores"
readonly LARGE_MEMORY_GIB=64 # "memory of more than 64 GiB"
readonly LOCKS_PER_CPU=100   # "100 * number_of_CPUs"

main() {
  (($# > 0)) || fail "no mount directory given; usage: lustre_tuning.sh MOUNT_DIR..."
  command -v lctl >/dev/null || fail "lctl is not installed; install the Lustre client first"
  local cpus memory_gib
  cpus=$(nproc)
  memory_gib=$(memory_in_gib)
  ((cpus <= LARGE_CPUS)) || set_module_options
  install_service "$@"
  local dir
  for dir in "$@"; do
    if ! is_lustre "$dir"; then
      echo "lustre_tuning: $dir is not mounted yet; $NAME.service sets it when it is"
      return
    fi
  done
  set_client_parameters "$cpus" "$memory_gib"
}

set_module_options() {
  local file="$ROOT_DIR/etc/modprobe.d/$NAME.conf"
  write_if_changed "$file" <<'OPTIONS'
# FSx for Lustre user guide "Performance tips": clients with more than 64 vCPUs.
options ptlrpc ptlrpcd_per_cpt_max=32
options ksocklnd credits=2560
OPTIONS
  local loaded="$ROOT_DIR/sys/module/ptlrpc/parameters/ptlrpcd_per_cpt_max"
  if [[ -r $loaded && $(<"$loaded") != 32 ]]; then
    echo "lustre_tuning: the Lustre modules are loaded; $file is in force after a reboot"
  fi
}

set_client_parameters() {
  local cpus=$1 memory_gib=$2
  if ((memory_gib > LARGE_MEMORY_GIB)); then
    set_param "ldlm.namespaces.*.lru_max_age=600000"
    set_param "ldlm.namespaces.*.lru_size=$((LOCKS_PER_CPU * cpus))"
  fi
  if ((cpus > LARGE_CPUS)); then
    set_param "osc.*OST*.max_rpcs_in_flight=32"
    set_param "mdc.*.max_rpcs_in_flight=64"
    set_param "mdc.*.max_mod_rpcs_in_flight=50"
  fi
  set_param "llite.*.statahead_max=512"
  set_param "llite.*.statahead_agl=1"
  if lctl get_param "llite.*.statahead_xattr" >/dev/null 2>&1; then
    set_param "llite.*.statahead_xattr=1"
  fi
  echo "lustre_tuning: set for $cpus CPUs and $memory_gib GiB of memory"
}

set_param() {
  lctl set_param "$1" >/dev/null || fail "lctl set_param $1 failed"
}

# A copy of this script that systemd runs after each boot, once the directories are mounted.
install_service() {
  local script="$ROOT_DIR/usr/local/sbin/$NAME"
  if ! cmp -s "$0" "$script"; then
    install -D -m 0755 "$0" "$script"
  fi
  write_if_changed "$ROOT_DIR/etc/systemd/system/$NAME.service" <<UNIT
[Unit]
Description=Lustre client settings that AWS documents
RequiresMountsFor=$*
After=remote-fs.target

[Service]
Type=oneshot
RemainAfterExit=yes
ExecStart=/usr/local/sbin/$NAME $*

[Install]
WantedBy=multi-user.target
UNIT
  systemctl daemon-reload
  systemctl enable --quiet "$NAME.service"
}

write_if_changed() {
  local file=$1 text
  text=$(cat)
  if [[ ! -f $file || $(<"$file") != "$text" ]]; then
    mkdir -p "$(dirname "$file")"
    printf '%s\n' "$text" >"$file.new"
    mv "$file.new" "$file"
  fi
}

is_lustre() {
  [[ $(stat -f -c %T "$1" 2>/dev/null) == lustre ]]
}

memory_in_gib() {
  awk '/^MemTotal:/ {print int($2 / 1048576)}' "$ROOT_DIR/proc/meminfo"
}

fail() {
  echo "lustre_tuning: $*" >&2
  exit 1
}

main "$@"
