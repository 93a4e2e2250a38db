#!/bin/bash
# usage: munge_key.sh REGION SECRET_ARN    the cluster's munge key, and munged with it
set -euo pipefail
# shellcheck source=assets/node/common.sh
source "$(dirname "$0")/common.sh"

readonly KEY=/etc/munge/munge.key MIN_BYTES=32

main() {
  local region=$1 secret=$2 key
  key=$(aws secretsmanager get-secret-value --region "$region" --secret-id "$secret" \
    --query SecretString --output text) || fail "cannot read the secret $secret"
  ((${#key} >= MIN_BYTES)) ||
    fail "the secret $secret has ${#key} bytes; a munge key has $MIN_BYTES or more"
  install -d -m 0700 -o munge -g munge "${KEY%/*}"
  # Without a line's end: the key is the secret's text, byte for byte.
  write_file "$KEY" 0400 munge munge.service < <(printf %s "$key")
  # munged refuses to write to files of others, which an image may bring.
  chown munge: /var/log/munge /var/lib/munge
  ensure_running munge.service
  retry 10 bash -o pipefail -c 'munge -n | unmunge >/dev/null' ||
    fail "munged does not take its own credential"
  echo "munge_key: ${#key} bytes"
}

main "$@"
