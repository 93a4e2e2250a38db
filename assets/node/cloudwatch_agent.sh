#!/bin/bash
# usage: cloudwatch_agent.sh CONFIG_JSON    the CloudWatch agent with its configuration, if the image has it
set -euo pipefail
# shellcheck source=assets/node/common.sh
source "$(dirname "$0")/common.sh"

readonly CONTROL=/opt/aws/amazon-cloudwatch-agent/bin/amazon-cloudwatch-agent-ctl
readonly TARGET=/opt/aws/amazon-cloudwatch-agent/etc/trainshed.json

main() {
  if [[ ! -x $CONTROL || ! -f $1 ]]; then
    echo "cloudwatch_agent: not on this image"
    return
  fi
  write_file "$TARGET" 0644 root <"$1"
  if [[ $CHANGED == yes ]] || ! systemctl is-active --quiet amazon-cloudwatch-agent.service; then
    "$CONTROL" -a fetch-config -m ec2 -s -c "file:$TARGET" >/dev/null ||
      echo "cloudwatch_agent: it does not start; the node works without it" >&2
  fi
  echo "cloudwatch_agent: configured"
}

main "$@"
