#!/bin/bash
# usage: state_volume.sh REGION CLUSTER VOLUME_ID    attaches and mounts the cluster's state at /state
#
# A head node that replaces another finds the volume there. The other is stopped first: two slurmctld
# never work on one state. A volume that holds anything at all is never formatted. Nothing but this
# mounts it, and the daemons on it start only while it is mounted.
set -euo pipefail
# shellcheck source=assets/node/common.sh
source "$(dirname "$0")/common.sh"

readonly DIR=/state WAIT_SECONDS=300

main() {
  local region=$1 cluster=$2 volume=$3 own device
  own=$(own_instance_id)
  if ! mountpoint --quiet "$DIR"; then
    take_volume "$region" "$cluster" "$volume" "$own"
    device=$(device_of "$volume")
    make_file_system "$device" "$volume"
    mkdir -p "$DIR"
    mount -o noatime "$device" "$DIR" || fail "$device cannot be mounted at $DIR"
  fi
  grow
  install -d -m 0755 "$DIR/slurmctld" "$DIR/mysql"
  chown slurm: "$DIR/slurmctld"
  echo "state_volume: $volume is at $DIR"
}

own_instance_id() {
  sed -n "s/^TRAINSHED_INSTANCE_ID='\(.*\)'/\1/p" /etc/trainshed/node.env
}

take_volume() {
  local region=$1 cluster=$2 volume=$3 own=$4 found holder state
  found=$(attachment "$region" "$volume")
  read -r holder state <<<"$found"
  if [[ $holder != None && $holder != "$own" ]]; then
    fence "$region" "$cluster" "$volume" "$holder"
    holder=None
  fi
  if [[ $holder == None ]]; then
    aws ec2 attach-volume --region "$region" --volume-id "$volume" --instance-id "$own" \
      --device /dev/sdf >/dev/null || fail "$volume cannot be attached to $own"
    state=attaching
  fi
  local end=$((SECONDS + WAIT_SECONDS))
  until [[ $state == attached ]]; do
    ((SECONDS < end)) || fail "$volume is $state after $WAIT_SECONDS s"
    sleep 1
    found=$(attachment "$region" "$volume")
    read -r holder state <<<"$found"
  done
}

# Prints the instance that has the volume and the attachment's state, or "None None".
attachment() {
  aws ec2 describe-volumes --region "$1" --volume-ids "$2" --output text \
    --query 'Volumes[0].[Attachments[0].InstanceId, Attachments[0].State]' ||
    fail "the volume $2 is not there, or the node may not see it"
}

# The old head node is stopped, not only cut off: what it still has in memory must not reach the disk.
fence() {
  local region=$1 cluster=$2 volume=$3 old=$4 tags
  tags=$(aws ec2 describe-instances --region "$region" --instance-ids "$old" --output text --query \
    "Reservations[0].Instances[0].[Tags[?Key=='trainshed:cluster']|[0].Value, Tags[?Key=='trainshed:role']|[0].Value]")
  [[ $tags == "$cluster"$'\t'head ]] ||
    fail "$volume is attached to $old, which is no head node of the cluster $cluster; detach it yourself"
  echo "state_volume: stopping $old, which has the volume"
  aws ec2 stop-instances --region "$region" --instance-ids "$old" >/dev/null
  local end=$((SECONDS + 2 * WAIT_SECONDS))
  until [[ $(instance_state "$region" "$old") =~ ^(stopped|terminated)$ ]]; do
    ((SECONDS < end)) || fail "$old is not stopped after $((2 * WAIT_SECONDS)) s"
    sleep 1
  done
  if [[ $(attachment "$region" "$volume") != None* ]]; then
    aws ec2 detach-volume --region "$region" --volume-id "$volume" --instance-id "$old" >/dev/null
    until [[ $(attachment "$region" "$volume") == None* ]]; do
      ((SECONDS < end)) || fail "$volume is not detached from $old after $((2 * WAIT_SECONDS)) s"
      sleep 1
    done
  fi
}

instance_state() {
  aws ec2 describe-instances --region "$1" --instance-ids "$2" --output text \
    --query 'Reservations[0].Instances[0].State.Name'
}

# EBS user guide "Identify the device", read 2026-11-29: a Nitro disk's serial number is the volume id.
device_of() {
  local link=/dev/disk/by-id/nvme-Amazon_Elastic_Block_Store_${1/-/}
  retry 60 test -e "$link" || fail "$1 is attached, but no disk with its serial number appears"
  readlink -f "$link"
}

# What blkid does not know may still be data, so an empty disk is one that begins with zeros, or one that
# was so when this began to format it: mkfs writes the superblock, which blkid knows, last.
make_file_system() {
  local device=$1 note=format-$2
  if blkid -p "$device" >/dev/null; then
    [[ $(blkid -p -o value -s TYPE "$device") == ext4 ]] ||
      fail "$device has $(blkid -p -o value -s TYPE -s PTTYPE "$device" | paste -s -d ' ') on it and not ext4; it is not touched"
    settle "$note"
    return
  fi
  noted "$note" || head -c 4194304 "$device" | cmp -s - <(head -c 4194304 /dev/zero) ||
    fail "$device has data on it that is no file system; it is not touched"
  make_note "$note"
  mkfs.ext4 -q -L trainshed-state -E lazy_itable_init=1 "$device"
  settle "$note"
}

# A volume that was made larger has a file system of the size before. Nothing is changed otherwise.
grow() {
  local device said
  device=$(findmnt --noheadings --output SOURCE "$DIR")
  said=$(resize2fs "$device" 2>&1) ||
    echo "state_volume: the file system does not grow to the size of $device: $said" >&2
}

main "$@"
