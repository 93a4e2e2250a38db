#!/bin/bash
# usage: pc_head.sh DOCUMENT_JSON REGION SHARED_DIR
#
# What pc_release.sh runs on the head node of ParallelCluster: checks before each job, the ends of
# Capacity Blocks, the gate, the mending of nodes that fail, goodput, and trainshed-resume.
# ROOT_DIR stands before every path that is written; empty on a node.
set -euo pipefail
# shellcheck source=assets/node/common.sh
source "$(dirname "$0")/common.sh"

readonly ROOT_DIR="${ROOT_DIR:-}"
readonly RELEASE="$ROOT_DIR/opt/trainshed/current"

main() {
  (($# == 3)) || fail "usage: pc_head.sh DOCUMENT_JSON REGION SHARED_DIR"
  local document=$1 region=$2 shared=$3
  python3 -c 'import json, sys; print(json.dumps({**json.load(sys.stdin), "region": sys.argv[1]}))' \
    "$region" <"$document" | write_file "$ROOT_DIR/etc/trainshed/fleet.json" 0644 root trainshed-blocks.service
  "$RELEASE/install_resume.sh" "$shared"
  install_prolog
  if grep -q '"accounting": true' "$document"; then
    "$RELEASE/goodput_timers.sh"
  fi
  service trainshed-blocks "Leaves Capacity Blocks before they end" keeper.blocks
  gate_program
  # Without a gate, too: a queue opens when the gate is taken out of the file.
  service trainshed-recovery "Mends nodes that fail, and opens queues after the all-reduce over them" keeper.cluster
  echo "pc_head: checks before jobs, mending and ends of blocks are on"
}

# All nodes run what is in this directory, also those that were booted before their checks came.
install_prolog() {
  write_file "$ROOT_DIR/opt/slurm/etc/scripts/prolog.d/50_trainshed_health" 0755 root <<'PROLOG'
#!/bin/bash
[[ ! -x /opt/trainshed/current/health/prolog.sh ]] || exec /opt/trainshed/current/health/prolog.sh
PROLOG
}

gate_program() {
  write_file "$ROOT_DIR/usr/local/sbin/trainshed-gate" 0755 root <<PROGRAM
#!/bin/sh
PATH="$ROOT_DIR/opt/trainshed/bin:/opt/slurm/bin:\$PATH" PYTHONPATH=$RELEASE exec python3 -m keeper.cluster gate "\$@"
PROGRAM
}

# usage: service NAME DESCRIPTION MODULE
service() {
  local name=$1 description=$2 module=$3 release
  release=$(readlink "$RELEASE")
  write_file "$ROOT_DIR/etc/systemd/system/$name.service" 0644 root "$name.service" <<UNIT
[Unit]
Description=$description
After=network-online.target munge.service slurmctld.service

[Service]
# Release $release: a change restarts it.
Environment=PYTHONDONTWRITEBYTECODE=1 PYTHONPATH=$RELEASE
Environment=PATH=$ROOT_DIR/opt/trainshed/bin:/opt/slurm/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
ExecStart=/usr/bin/env python3 -m $module
Restart=always
RestartSec=5

[Install]
WantedBy=multi-user.target
UNIT
  ensure_running "$name.service"
  systemctl is-enabled --quiet "$name.service" || systemctl enable --quiet "$name.service"
}

main "$@"
