#!/bin/bash
# usage: wait_clock.sh SECONDS    waits until the clock agrees with the Amazon Time Sync Service
#
# munge refuses credentials that are five minutes off, and slurmd then says only that it cannot fetch
# its configuration.
# EC2 user guide "Set the time reference on your EC2 instance", read 2026-11-29: 169.254.169.123.
set -euo pipefail
# shellcheck source=assets/node/common.sh
source "$(dirname "$0")/common.sh"

readonly SOURCE=169.254.169.123
readonly MOST_SECONDS=1 # far below munge's limit, far above what a good clock has

main() {
  local seconds=$1
  command -v chronyc >/dev/null || fail "chrony is not installed; the Deep Learning AMIs have it"
  # Images of AWS have it; others get it.
  if ! grep -rqsE "^(server|pool) $SOURCE( |\$)" /etc/chrony; then
    write_file "$(sources_dir)/trainshed.sources" 0644 root chrony.service <<<"server $SOURCE prefer iburst minpoll 4 maxpoll 4"
  fi
  systemctl start chrony.service
  if noted chrony.service; then
    chronyc reload sources >/dev/null || systemctl restart chrony.service
    settle chrony.service
  fi
  local end=$((SECONDS + seconds)) offset
  until offset=$(measured) && small "$offset"; do
    ((SECONDS < end)) || fail "the clock is ${offset:-an unknown number of} s off $SOURCE after $seconds s"
    sleep 1
  done
  echo "wait_clock: $offset s off $SOURCE"
}

# Asks the service itself: chronyd's own account says how far its corrections are.
measured() {
  chronyd -Q -t 5 "server $SOURCE iburst maxsamples 1" 2>&1 |
    sed -n 's/.*System clock wrong by \(-\{0,1\}[0-9.]*\) seconds.*/\1/p' | grep .
}

small() {
  awk -v offset="$1" -v most="$MOST_SECONDS" 'BEGIN {exit !(offset < most && -offset < most)}'
}

# Debian's and Ubuntu's chrony.conf read this directory; older ones do not.
sources_dir() {
  local dir
  dir=$(awk '$1 == "sourcedir" && $2 ~ "^/etc/" {print $2; exit}' /etc/chrony/chrony.conf)
  echo "${dir:-/etc/chrony/sources.d}"
}

main "$@"
