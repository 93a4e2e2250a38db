#!/bin/bash
# usage: build_containers.sh OUT_DIR    builds Enroot and Pyxis from their pinned commits, into a tree of files
#
# containers.lock beside this script names them. A commit's hash is the checksum of everything in it
# and, through its submodules, of what it builds with. Pyxis is bound to the Slurm whose headers it was
# built with; OUT_DIR/slurm-version says which.
set -euo pipefail
# shellcheck source=assets/node/common.sh
source "$(dirname "$0")/common.sh"

readonly BUILD_PACKAGES=(git gcc make libc6-dev libtool autoconf automake pkg-config libmd-dev)

main() {
  local out=$1 lock work
  lock=$(dirname "$(readlink -f "$0")")/containers.lock
  work=$(mktemp -d)
  # shellcheck disable=SC2064 # the directory of now
  trap "rm -rf '$work'" EXIT
  install_packages
  checkout enroot "$lock" "$work/enroot"
  checkout pyxis "$lock" "$work/pyxis"
  rm -rf "$out.new"
  mkdir -p "$out.new/root"
  make --silent -C "$work/enroot" install prefix=/usr sysconfdir=/etc "DESTDIR=$out.new/root" >"$work/log" 2>&1 ||
    fail "Enroot does not build: $(tail -n 3 "$work/log" | paste -s -d ' ')"
  # Its configuration names the directories of the node, not those of the build.
  { grep -rlF "$out.new/root" "$out.new/root" || true; } | xargs --no-run-if-empty sed -i "s#$out.new/root##g"
  make --silent -C "$work/pyxis" install prefix=/usr/local "DESTDIR=$out.new/root" >"$work/log" 2>&1 ||
    fail "Pyxis does not build: $(tail -n 3 "$work/log" | paste -s -d ' ')"
  slurm_version >"$out.new/slurm-version"
  rm -rf "$out"
  put_whole "$out.new" "$out"
  echo "build_containers: Enroot and Pyxis for Slurm $(<"$out/slurm-version")"
}

# Slurm's packages are held, and its headers fit no other version of them.
install_packages() {
  local version
  # shellcheck disable=SC2016 # dpkg-query's own variable
  version=$(dpkg-query -W -f '${Version}' slurm-client 2>/dev/null) || true
  apt_get update || echo "build_containers: going on with the repositories that answer" >&2
  apt_get install --no-install-recommends "${BUILD_PACKAGES[@]}" "libslurm-dev${version:+=$version}" >/dev/null ||
    fail "apt-get install failed, see above; make a package cache with containers on a machine where it works"
}

checkout() {
  local name=$1 lock=$2 dir=$3 url commit
  read -r url commit < <(awk -v name="$name" '$1 == name {print $3, $4}' "$lock") ||
    fail "$lock has no line of $name"
  git clone --quiet "$url" "$dir" || fail "cannot clone $url"
  git -C "$dir" checkout --quiet --detach "$commit" || fail "$url has no commit $commit"
  [[ $(git -C "$dir" rev-parse HEAD) == "$commit" ]] || fail "$url is not at $commit"
  git -C "$dir" submodule --quiet update --init --recursive || fail "cannot fetch what $url builds with"
}

# Year and month: what a plugin is bound to.
slurm_version() {
  # shellcheck disable=SC2016 # dpkg-query's own variable
  dpkg-query -W -f '${Version}' libslurm-dev | sed -E 's/^([0-9]+\.[0-9]+).*/\1/'
}

main "$@"
