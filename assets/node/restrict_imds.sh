#!/bin/bash
# usage: restrict_imds.sh [USER...]
#
# Keeps the credentials of the node's role from jobs: the instance metadata service (IMDS) answers
# root and the USERs alone. A USER who is not on this node is left out. A systemd service repeats
# it at boot, before jobs can run.
# ROOT_DIR stands before every path that is written; empty on a node.
set -euo pipefail

readonly ROOT_DIR="${ROOT_DIR:-}"
readonly NAME=trainshed-restrict-imds
readonly CHAIN=TRAINSHED_IMDS
readonly IMDS_IPV4=169.254.169.254 IMDS_IPV6=fd00:ec2::254

main() {
  command -v iptables >/dev/null || fail "iptables is not installed; install it first"
  local uids
  uids=$(allowed_uids "$@")
  restrict iptables "$IMDS_IPV4" "$uids"
  # A node without IPv6 has no table to put rules in, and no way to that address either.
  if command -v ip6tables >/dev/null && ip6tables -w -n -L OUTPUT >/dev/null 2>&1; then
    restrict ip6tables "$IMDS_IPV6" "$uids"
  fi
  install_service "$@"
  echo "restrict_imds: IMDS answers root${*:+, $*}"
}

allowed_uids() {
  local user
  echo 0
  for user in "$@"; do
    id -u "$user" 2>/dev/null || true
  done
}

restrict() {
  local command=$1 address=$2 uid
  # All of the chain at once: there is no moment at which a job may ask.
  {
    printf '%s\n' '*filter' ":$CHAIN - [0:0]"
    for uid in $3; do
      echo "-A $CHAIN -m owner --uid-owner $uid -j RETURN"
    done
    printf '%s\n' "-A $CHAIN -j REJECT" COMMIT
  } | "$command-restore" -w --noflush
  ensure "$command" OUTPUT "$address" "$CHAIN"
  # Containers with a network of their own pass through here; no owner can be told.
  ensure "$command" FORWARD "$address" REJECT
}

ensure() {
  local command=$1 chain=$2 address=$3 target=$4
  "$command" -w -C "$chain" -d "$address" -j "$target" 2>/dev/null ||
    "$command" -w -I "$chain" 1 -d "$address" -j "$target"
}

install_service() {
  local script="$ROOT_DIR/usr/local/sbin/$NAME" unit="$ROOT_DIR/etc/systemd/system/$NAME.service"
  # The copy that the service runs is the same, too.
  if ! cmp -s "$0" "$script"; then
    install -D -m 0755 "$0" "$script"
  fi
  install -d "$(dirname "$unit")"
  cat >"$unit.new" <<UNIT
[Unit]
Description=Keep the instance metadata service from jobs
Before=slurmd.service
After=network-pre.target

[Service]
Type=oneshot
RemainAfterExit=yes
ExecStart=/usr/local/sbin/$NAME${*:+ $*}

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

fail() {
  echo "restrict_imds: $*" >&2
  exit 1
}

main "$@"
