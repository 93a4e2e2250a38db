#!/bin/bash
# usage: cloudwatch_agent.sh CONFIG_JSON REGION    the CloudWatch agent with its configuration, installed where the image has none
#
# CloudWatch user guide "Installing the CloudWatch agent" and "Verifying the signature of the
# CloudWatch agent package", read 2026-11-29. A node works without it, so nothing here ends a boot.
set -euo pipefail
# shellcheck source=assets/node/common.sh
source "$(dirname "$0")/common.sh"

readonly CONTROL=/opt/aws/amazon-cloudwatch-agent/bin/amazon-cloudwatch-agent-ctl
readonly TARGET=/opt/aws/amazon-cloudwatch-agent/etc/trainshed.json
readonly FROM=https://amazoncloudwatch-agent FINGERPRINT=937616F3450B7D806CBD9725D58167303B789C72

main() {
  local config=$1 region=$2
  if [[ ! -f $config ]]; then
    echo "cloudwatch_agent: no configuration for this node"
    return
  fi
  if [[ ! -x $CONTROL ]] && ! (install_agent "$region"); then
    echo "cloudwatch_agent: this image has none; the node works without it, its metrics and logs are missing" >&2
    return
  fi
  write_file "$TARGET" 0644 root amazon-cloudwatch-agent.service <"$config"
  if noted amazon-cloudwatch-agent.service || ! systemctl is-active --quiet amazon-cloudwatch-agent.service; then
    "$CONTROL" -a fetch-config -m ec2 -s -c "file:$TARGET" >/dev/null || {
      echo "cloudwatch_agent: it does not start; the node works without it, its metrics and logs are missing" >&2
      return
    }
    settle amazon-cloudwatch-agent.service
  fi
  echo "cloudwatch_agent: configured"
}

# Called where errexit is off: every step says what it does not get.
install_agent() {
  local region=$1 work package found
  package=$FROM-$region.s3.$region.amazonaws.com/ubuntu/$(dpkg --print-architecture)/latest/amazon-cloudwatch-agent.deb
  work=$(mktemp -d)
  # shellcheck disable=SC2064 # the directory of now
  trap "rm -rf '$work'" EXIT
  chmod 0755 "$work" # apt reads as a user of its own
  download "$FROM.s3.amazonaws.com/assets/amazon-cloudwatch-agent.gpg" "$work/key.asc"
  download "$package" "$work/agent.deb"
  download "$package.sig" "$work/agent.deb.sig"
  found=$(python3 "$(dirname "$0")/key_fingerprint.py" <"$work/key.asc" | paste -s -d ' ')
  [[ $found == "$FINGERPRINT" ]] || fail "the agent's key is ${found:-none} and not $FINGERPRINT"
  signed "$work" || fail "the agent's package is not signed with its key"
  apt_get install --no-install-recommends "$work/agent.deb" || fail "the agent's package does not install, see above"
}

download() {
  curl --fail --silent --show-error --location --retry 3 --max-time 120 --output "$2" "$1" ||
    fail "$1 cannot be reached"
}

# Images have one of the two programs: apt needs it.
signed() {
  if command -v gpgv >/dev/null; then
    sed '1,/^$/d; /^=/,$d' "$1/key.asc" | base64 --decode >"$1/key.gpg"
    gpgv --quiet --keyring "$1/key.gpg" "$1/agent.deb.sig" "$1/agent.deb"
  else
    sqv --keyring "$1/key.asc" "$1/agent.deb.sig" "$1/agent.deb" >/dev/null
  fi
}

main "$@"
