#!/bin/bash
# usage: watch.sh [HEAD_HOST NODE_NAME]    run by a timer: restarts slurmd for a new head node, boots for a new document, or again
#
# slurmd keeps the address that it found first, so without this a replaced head node is never found
# again. A slurmctld that was killed may have forgotten a node that had just joined, and slurmd does
# not register by itself then. A restart of slurmd leaves running jobs alone; so do the boot's steps.
set -euo pipefail
# shellcheck source=assets/node/common.sh
source "$(dirname "$0")/common.sh"

readonly LAST=/run/trainshed/head-address DOCUMENT=/etc/trainshed/fleet.json AGAIN_SECONDS=300
readonly PORT=6817 APPLIED=/var/lib/trainshed/applied

main() {
  if [[ -n ${1:-} ]]; then
    follow_head "$1"
    join_again "$2"
  fi
  # shellcheck source=/dev/null
  source /etc/trainshed/node.env
  if [[ $TRAINSHED_ROLE == head ]]; then
    boot_head_again
  else
    follow_document
  fi
}

follow_head() {
  local address
  address=$(getent ahostsv4 "$1" | awk 'NR == 1 {print $1}') || return 0
  [[ -n $address ]] || return 0
  if [[ -e $LAST && $(<"$LAST") != "$address" ]]; then
    # A new head node has the name minutes before it has slurmctld. slurmd does not start without one,
    # and the old head node would take this node for lost.
    answers "$address" || return 0
    echo "watch: the head node is now at $address"
    systemctl restart slurmd.service
  fi
  write_file "$LAST" 0644 root <<<"$address"
}

answers() {
  # shellcheck disable=SC2016 # the inner shell's own arguments
  timeout 5 bash -c 'exec 3<>"/dev/tcp/$1/$2"' -- "$1" "$PORT" 2>/dev/null
}

join_again() {
  local said
  if ! said=$(timeout 20 scontrol show node "$1" 2>&1) && [[ $said == *"not found"* ]]; then
    echo "watch: the head node does not know $1"
    systemctl restart slurmd.service
  fi
}

follow_document() {
  local new
  new=$(aws ssm get-parameter --region "$TRAINSHED_REGION" \
    --name "/trainshed/$TRAINSHED_CLUSTER/slurm/fleet" --query Parameter.Value --output text) || return 0
  if [[ $new != "$(<"$DOCUMENT")" ]]; then
    echo "watch: the fleet document has changed"
    systemctl --no-block restart trainshed-boot.service
  elif failed_a_while_ago; then
    echo "watch: the last boot did not end well"
    systemctl --no-block restart trainshed-boot.service
  fi
}

# Documents are the keeper's matter, which is there once a boot has come so far. Without the state volume
# this may be the head node that a rollback takes away: its boot would stop the one that serves again.
boot_head_again() {
  if failed_a_while_ago && ! keeper_boots && volume_is_ours; then
    echo "watch: the last boot did not end well"
    systemctl --no-block start trainshed-boot.service
  fi
}

keeper_boots() {
  [[ ! -e $APPLIED ]] && systemctl is-active --quiet trainshed-keeper.service
}

volume_is_ours() {
  local volume holder
  volume=$(python3 -c 'import json, sys; print(json.load(sys.stdin)["head"]["state_volume_id"])' <"$DOCUMENT")
  holder=$(aws ec2 describe-volumes --region "$TRAINSHED_REGION" --volume-ids "$volume" \
    --query 'Volumes[0].Attachments[0].InstanceId' --output text) || return 1
  [[ $holder == None || $holder == "$TRAINSHED_INSTANCE_ID" ]]
}

# The document is on the node before its steps have run, so one that was cut off is run again.
failed_a_while_ago() {
  local state ended now
  state=$(systemctl show --property ActiveState --value trainshed-boot.service)
  ended=$(systemctl show --property InactiveEnterTimestampMonotonic --value trainshed-boot.service)
  read -r now _ </proc/uptime
  [[ $state == failed ]] && ((${now%.*} - ended / 1000000 > AGAIN_SECONDS))
}

main "$@"
