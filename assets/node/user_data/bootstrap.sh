#!/bin/bash
# usage: bootstrap.sh [--boot]    user data of a node: fetches the node's scripts and boots it with them
#
# Without --boot it puts itself under systemd as trainshed-boot.service, which runs at every start of
# the node, and starts that. The fleet document says which scripts; they can change on a live node.
set -euo pipefail

readonly CLUSTER='@CLUSTER@' REGION='@REGION@' ROLE='@ROLE@' QUEUE='@QUEUE@'
readonly HOME_DIR=/opt/trainshed ENV_FILE=/etc/trainshed/node.env DOCUMENT=/etc/trainshed/fleet.json
readonly PARAMETER="/trainshed/$CLUSTER/slurm/fleet"
readonly WAIT_SECONDS=1800 # the template writes the parameter once groups and launch templates exist
readonly READ_AGAIN=75 AGAIN_SECONDS=600 PAUSE_SECONDS=15
export AWS_METADATA_SERVICE_NUM_ATTEMPTS=5 AWS_METADATA_SERVICE_TIMEOUT=5
export LC_ALL=C PATH="/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

main() {
  mkdir -p "$HOME_DIR" /etc/trainshed /var/log/trainshed
  if [[ ${1:-} != --boot ]]; then
    install_service
    systemctl start trainshed-boot.service
    return
  fi
  exec > >(tee -a /var/log/trainshed/bootstrap.log) 2>&1
  trap 'report "$?"' EXIT
  write_environment
  local code
  while true; do
    fetch_document
    fetch_scripts
    trap - EXIT # the boot writes its own record
    code=0
    "$HOME_DIR/current/boot.sh" "$ROLE" || code=$?
    ((code == READ_AGAIN)) || exit "$code"
    step="files" # its remedy is that of the scripts
    trap 'report "$?"' EXIT
    wait_for_file "a file that the fleet document names"
  done
}

install_service() {
  if ! cmp -s "$0" "$HOME_DIR/bootstrap.sh"; then
    install -m 0755 "$0" "$HOME_DIR/bootstrap.sh"
  fi
  cat >/etc/systemd/system/trainshed-boot.service <<UNIT
[Unit]
Description=Boot of a node of the cluster $CLUSTER
Wants=network-online.target
After=network-online.target

[Service]
Type=oneshot
ExecStart=$HOME_DIR/bootstrap.sh --boot
TimeoutStartSec=infinity

[Install]
WantedBy=multi-user.target
UNIT
  systemctl daemon-reload
  systemctl enable --quiet trainshed-boot.service
}

write_environment() {
  step="metadata" remedy="see whether instance metadata is on, with tags and a hop limit of at least 1"
  local token id type
  token=$(curl -sSf --retry 5 --retry-connrefused -m 10 -X PUT \
    -H 'X-aws-ec2-metadata-token-ttl-seconds: 300' http://169.254.169.254/latest/api/token)
  id=$(metadata "$token" instance-id)
  type=$(metadata "$token" instance-type)
  cat >"$ENV_FILE.new" <<ENV
TRAINSHED_CLUSTER='$CLUSTER'
TRAINSHED_REGION='$REGION'
TRAINSHED_ROLE='$ROLE'
TRAINSHED_QUEUE='$QUEUE'
TRAINSHED_INSTANCE_ID='$id'
TRAINSHED_INSTANCE_TYPE='$type'
ENV
  put_in_place "$ENV_FILE"
  instance_id=$id
}

metadata() {
  curl -sSf --retry 5 -m 10 -H "X-aws-ec2-metadata-token: $1" \
    "http://169.254.169.254/latest/meta-data/$2"
}

fetch_document() {
  step="document" remedy="see whether the stack has made the parameter $PARAMETER and the node may read it"
  command -v aws >/dev/null || fail "the image has no AWS command line; use a Deep Learning AMI"
  local end=$((SECONDS + WAIT_SECONDS))
  until aws ssm get-parameter --region "$REGION" --name "$PARAMETER" \
    --query Parameter.Value --output text >"$DOCUMENT.new"; do
    ((SECONDS < end)) || fail "no fleet document after $WAIT_SECONDS s"
    sleep 5
  done
  put_in_place "$DOCUMENT"
}

fetch_scripts() {
  step="scripts" remedy="deploy again: the bucket's file must be the one that the fleet document names"
  local bucket key sha256 dir
  read -r bucket key sha256 < <(python3 -c '
import json, sys
scripts = json.load(open(sys.argv[1]))["scripts"]
print(scripts["bucket"], scripts["key"], scripts["sha256"])' "$DOCUMENT")
  dir=$HOME_DIR/${sha256:0:12}
  if [[ ! -d $dir ]]; then
    rm -rf "$HOME_DIR/new" "$HOME_DIR/new.zip"
    if ! aws s3 cp --region "$REGION" --only-show-errors "s3://$bucket/$key" "$HOME_DIR/new.zip"; then
      wait_for_file "s3://$bucket/$key"
      fetch_document
      fetch_scripts
      return
    fi
    echo "$sha256  $HOME_DIR/new.zip" | sha256sum --check --status ||
      fail "s3://$bucket/$key is not the file that was deployed; its SHA-256 is another"
    python3 -m zipfile -e "$HOME_DIR/new.zip" "$HOME_DIR/new"
    find "$HOME_DIR/new" -name '*.sh' -exec chmod 0755 {} +
    rm "$HOME_DIR/new.zip"
    mv "$HOME_DIR/new" "$dir"
  fi
  if [[ $(readlink "$HOME_DIR/current") != "${dir##*/}" ]]; then
    ln -sfn "${dir##*/}" "$HOME_DIR/current.new"
    mv -T "$HOME_DIR/current.new" "$HOME_DIR/current"
  fi
}

# In the middle of an update a document may be newer than the node's rights, and one that is rolled
# back names a file that is gone. Both pass, so the document is read again before it is a failure.
wait_for_file() {
  : "${give_up:=$((SECONDS + AGAIN_SECONDS))}"
  ((SECONDS < give_up)) || fail "$1 cannot be read after $AGAIN_SECONDS s"
  echo "bootstrap: $1 cannot be read; the fleet document is read again in $PAUSE_SECONDS s"
  sleep "$PAUSE_SECONDS"
}

# A file that is as it should be keeps its time: nothing that watches it wakes up.
put_in_place() {
  if cmp -s "$1.new" "$1"; then
    rm "$1.new"
  else
    mv "$1.new" "$1"
  fi
}

fail() {
  echo "bootstrap: $*" >&2
  exit 1
}

# Where the custom resource and the keeper look for nodes that did not boot.
report() {
  (($1 != 0)) && [[ -n ${instance_id:-} ]] || return 0
  sleep 1 # until tee has written the last line
  python3 - "$instance_id" "$ROLE" "$QUEUE" "$step" "$remedy" >/run/trainshed-record.json <<'RECORD'
import json, sys, time
instance_id, role, queue, step, remedy = sys.argv[1:]
tail = open("/var/log/trainshed/bootstrap.log", errors="replace").read()[-1500:]
name = f"{queue}-{instance_id.removeprefix('i-')}" if role == "compute" else role
record = {"schema": 1, "instance_id": instance_id, "role": role, "queue": queue, "node": name,
    "step": step, "reason": (tail.strip().splitlines() or ["no message"])[-1][-300:], "remedy": remedy,
    "tail": tail, "at": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())}
while len(json.dumps(record)) > 4000:  # a parameter has 4 KB, and a character may take six
    record["tail"] = record["tail"][50:]
print(json.dumps(record).replace("{{", "{ {"))
RECORD
  aws ssm put-parameter --region "$REGION" --type String --overwrite --output text \
    --name "/trainshed/$CLUSTER/slurm/nodes/$instance_id" \
    --value file:///run/trainshed-record.json >/dev/null
}

main "$@"
