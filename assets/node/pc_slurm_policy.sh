#!/bin/bash
# usage: pc_slurm_policy.sh install|apply SSM_PARAMETER REGION [CONTENT_HASH]
#        pc_slurm_policy.sh before|after
#
# Keeps the accounting database of a ParallelCluster head node at the policy that an SSM parameter
# names: a line a file, SHA256 S3_URL, first slurm_accounts.py and then its document; or "none".
#
# slurmctld stops at a partition whose QOS the database lacks, and ParallelCluster starts it without
# a hook: at the first boot, and in an update before OnNodeUpdated. So "install", in OnNodeStart,
# writes a drop-in for its unit, which runs "before" and "after" at every start. "after" is for caps
# on GPUs, which the database knows only once slurmctld has told it of them. "apply" is for
# OnNodeConfigured and OnNodeUpdated, and the only one that fails: a slurmctld that runs with an
# older policy is better than none. CONTENT_HASH is not read; ParallelCluster sees changes by it.
# ROOT_DIR stands before every path that is written; empty on a node.
set -euo pipefail

readonly ROOT_DIR="${ROOT_DIR:-}"
readonly HOME_DIR="$ROOT_DIR/opt/trainshed/slurm-policy"
readonly UNIT_DIR="$ROOT_DIR/etc/systemd/system/slurmctld.service.d"
readonly WAIT_SECONDS="${WAIT_SECONDS:-60}"
PATH="$PATH:/usr/local/bin:/opt/aws/bin:/opt/slurm/bin"

main() {
  (($# > 0)) || fail "usage: pc_slurm_policy.sh install|apply|before|after ..."
  case $1 in
  install) install_unit "${@:2}" ;;
  apply)
    install_unit "${@:2}"
    fetch
    reconcile
    ;;
  before) before ;;
  after) after ;;
  *) fail "$1 is none of install, apply, before, after" ;;
  esac
}

install_unit() {
  (($# >= 2)) || fail "usage: pc_slurm_policy.sh install|apply SSM_PARAMETER REGION [CONTENT_HASH]"
  mkdir -p "$HOME_DIR" "$UNIT_DIR"
  printf 'PARAMETER=%s\nREGION=%s\n' "$1" "$2" >"$HOME_DIR/source"
  if [[ ! $0 -ef $HOME_DIR/run ]]; then
    install -m 0700 "$0" "$HOME_DIR/.run.new"
    mv "$HOME_DIR/.run.new" "$HOME_DIR/run"
  fi
  # A dash: without its policy slurmctld still starts, on what it had.
  cat >"$UNIT_DIR/trainshed.conf" <<EOF
[Unit]
After=slurmdbd.service

[Service]
ExecStartPre=-$HOME_DIR/run before
ExecStartPost=-$HOME_DIR/run after
TimeoutStartSec=600
EOF
  systemctl daemon-reload
}

before() {
  fetch || echo "pc_slurm_policy: the last policy that was fetched is kept" >&2
  [[ ! -e $HOME_DIR/policy.json ]] || reconcile
}

after() {
  [[ -e $HOME_DIR/policy.json ]] || return 0
  if grep -q gres/gpu "$HOME_DIR/policy.json"; then
    wait_for "slurmctld to make gres/gpu known" knows_gpus
  fi
  reconcile
}

knows_gpus() {
  grep -q '^gres|gpu$' <<<"$(sacctmgr --noheader --parsable2 show tres format=Type,Name)"
}

# Nothing is replaced before both files are there: a document needs the program of its release.
fetch() {
  local PARAMETER REGION list sha256 url
  local -a new=()
  # shellcheck source=/dev/null # written by install_unit
  source "$HOME_DIR/source"
  list=$(aws ssm get-parameter --region "$REGION" --name "$PARAMETER" \
    --query Parameter.Value --output text) || complain "cannot read the SSM parameter $PARAMETER" || return
  if [[ $list == none ]]; then
    rm -f "$HOME_DIR/slurm_accounts.py" "$HOME_DIR/policy.json"
    return
  fi
  while read -r sha256 url; do
    aws s3 cp --region "$REGION" --only-show-errors "$url" "$HOME_DIR/.$sha256" </dev/null ||
      complain "cannot fetch $url" || return
    echo "$sha256  $HOME_DIR/.$sha256" | sha256sum --check --status ||
      complain "$url is not the file that was deployed; its SHA-256 is another" || return
    new+=("$HOME_DIR/.$sha256")
  done <<<"$list"
  ((${#new[@]} == 2)) || complain "$PARAMETER lists ${#new[@]} files, not two" || return
  mv "${new[0]}" "$HOME_DIR/slurm_accounts.py"
  mv "${new[1]}" "$HOME_DIR/policy.json"
}

reconcile() {
  [[ -e $HOME_DIR/policy.json ]] || return 0
  wait_for "slurmdbd" sacctmgr --noheader --parsable2 show cluster
  "$(find_python)" "$HOME_DIR/slurm_accounts.py" apply "$HOME_DIR/policy.json"
}

# Red Hat 8 has Python 3.6 as python3; ParallelCluster brings one of its own.
find_python() {
  local python
  for python in python3 "$ROOT_DIR"/opt/parallelcluster/pyenv/versions/*/bin/python3; do
    if "$python" -c 'import sys; sys.exit(sys.version_info < (3, 9))' 2>/dev/null; then
      echo "$python"
      return
    fi
  done
  fail "no Python 3.9 or later is on this node"
}

wait_for() {
  local what=$1 end=$((SECONDS + WAIT_SECONDS))
  shift
  until "$@" >/dev/null 2>&1; do
    ((SECONDS < end)) || fail "waited $WAIT_SECONDS s for $what"
    sleep 1
  done
}

complain() {
  echo "pc_slurm_policy: $*" >&2
  return 1
}

fail() {
  echo "pc_slurm_policy: $*" >&2
  exit 1
}

main "$@"
