#!/bin/bash
# usage: build_containers.sh OUT_DIR    builds Enroot and Pyxis from their pinned commits, into a tree of files
#
# A commit's hash is the checksum of everything in it and, through its submodules, of what it builds
# with. Pyxis is bound to the Slurm whose headers it was built with; OUT_DIR/slurm-version says which.
set -euo pipefail
# shellcheck source=assets/node/common.sh
source "$(dirname "$0")/common.sh"

# Releases 4.1.2 and 0.24.0.
readonly ENROOT=https://github.com/NVIDIA/enroot ENROOT_COMMIT=bd51f53b6fa954805ae3e1985c5dc7594ff66d05
readonly PYXIS=https://github.com/NVIDIA/pyxis PYXIS_COMMIT=107519944221822ea1dace4db8e7234b2eaa4cd5
readonly BUILD_PACKAGES=(git gcc make libc6-dev libslurm-dev libtool autoconf automake pkg-config libmd-dev)

main() {
  local out=$1 work
  work=$(mktemp -d)
  # shellcheck disable=SC2064 # the directory of now
  trap "rm -rf '$work'" EXIT
  DEBIAN_FRONTEND=noninteractive apt-get --quiet=2 --yes -o DPkg::Lock::Timeout=300 install \
    --no-install-recommends "${BUILD_PACKAGES[@]}" >/dev/null || fail "apt-get install failed, see above"
  checkout "$ENROOT" "$ENROOT_COMMIT" "$work/enroot"
  checkout "$PYXIS" "$PYXIS_COMMIT" "$work/pyxis"
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
  mv -T "$out.new" "$out"
  echo "build_containers: Enroot and Pyxis for Slurm $(<"$out/slurm-version")"
}

checkout() {
  local url=$1 commit=$2 dir=$3
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
