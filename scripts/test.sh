#!/usr/bin/env bash
# Run the whole suite, but for groups that this machine cannot run; those are named. Usage: test.sh [PYTEST_ARGUMENT...]
set -euo pipefail

is_root_on_debian_12() {
  [ "$(id -u)" = 0 ] && grep -qs '^VERSION_CODENAME=bookworm' /etc/os-release
}

has_chromium() {
  command -v chromium >/dev/null
}

main() {
  local left_out=() marks="not aws"
  cd "$(dirname "$0")/.."
  if is_root_on_debian_12; then
    scripts/slurm_lab.sh
  else
    left_out+=("slurm: real Slurm daemons, which need root on Debian 12")
  fi
  has_chromium || left_out+=("browser: the review page in Chromium, which is not installed")
  if [ "${#left_out[@]}" -gt 0 ]; then
    printf 'test: left out: %s\n' "${left_out[@]}"
    if [ "${CI:-}" = true ]; then
      echo "test: nothing may be left out in CI; .ci/run installs what is missing" >&2
      exit 1
    fi
    for group in "${left_out[@]}"; do
      marks+=" and not ${group%%:*}"
    done
  fi
  # Made beforehand, as two processes would make it at once.
  scripts/pcluster_venv.sh
  # Two at a time: most tests wait for daemons, wheels or Node.
  pytest -q -n 2 -m "$marks" "$@"
}

main "$@"
