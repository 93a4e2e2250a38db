#!/bin/bash
# usage: set_hostname.sh NAME [DNS_NAME]
#
# The host name is the node's name in Slurm, and stays over reboots: cloud-init sets its own again
# otherwise, and Slurm does not know the node then. A head node knows its DNS name by itself, too: each
# command of Slurm looks it up, and hangs for 40 s and more where no resolver answers.
set -euo pipefail
# shellcheck source=assets/node/common.sh
source "$(dirname "$0")/common.sh"

main() {
  local name=$1 dns_name=${2:-}
  write_file /etc/cloud/cloud.cfg.d/99-trainshed-hostname.cfg 0644 root <<<"preserve_hostname: true"
  write_file /etc/hostname 0644 root <<<"$name"
  if [[ $(hostname) != "$name" ]]; then
    hostname "$name"
  fi
  write_hosts_line "$name"
  [[ -z $dns_name ]] || write_hosts_line "$dns_name"
  echo "set_hostname: $name"
}

# munge puts the address of the own name into its credentials, and Slurm calls a node back there; so
# it is the address that others see, not a loopback one.
write_hosts_line() {
  local name=$1 address text
  address=$(ip -4 route get 169.254.169.254 | sed -n 's/.* src \([0-9.]*\).*/\1/p')
  [[ -n $address ]] || fail "this node has no address"
  if ! grep -qxF "$address $name" /etc/hosts; then
    text=$(grep -vE "[[:space:]]$name\$|^127\.0\.1\.1[[:space:]]" /etc/hosts || true)
    # Some images have it mounted, where it cannot be replaced.
    printf '%s\n' "$text" "$address $name" >/etc/hosts.new
    chmod 0644 /etc/hosts.new
    mv -T /etc/hosts.new /etc/hosts 2>/dev/null || cat /etc/hosts.new >/etc/hosts
    rm -f /etc/hosts.new
  fi
}

main "$@"
