#!/bin/bash
# usage: written_elsewhere.sh LAYERS CHECKOUT COMMAND [ARGUMENT...]   run in a mount namespace of its own, as root
#
# Runs a command that sees the whole machine; what it and all that it starts write outside CHECKOUT
# lands below LAYERS, an empty directory in memory, with one directory for each of the root's.
set -euo pipefail

main() {
  local layers=$1 checkout=$2 place name
  shift 2
  mount --make-rprivate /
  mkdir "$layers/checkout"
  mount --bind "$checkout" "$layers/checkout"
  for place in /*; do
    name=${place#/}
    case $name in
    dev | proc | sys) continue ;;
    esac
    if [[ ! -d $place || -L $place ]]; then
      continue
    fi
    mkdir -p "$layers/written/$name" "$layers/aside/$name"
    # The upper directory's mode is what is seen: /tmp is open to all.
    chmod --reference="$place" "$layers/written/$name"
    mount -t overlay -o "lowerdir=$place,upperdir=$layers/written/$name,workdir=$layers/aside/$name" none "$place"
  done
  mount --bind "$layers/checkout" "$checkout"
  cd "$checkout"
  exec "$@"
}

main "$@"
