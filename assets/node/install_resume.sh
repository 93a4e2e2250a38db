#!/bin/bash
# usage: install_resume.sh [SHARED_DIR]    trainshed-resume on every user's PATH, and where its records go
#
# ROOT_DIR stands before every path that is written but SHARED_DIR; empty on a node.
set -euo pipefail
# shellcheck source=assets/node/common.sh
source "$(dirname "$0")/common.sh"

main() {
  local shared=${1:-}
  write_file "${ROOT_DIR:-}/usr/local/bin/trainshed-resume" 0755 root <<'PROGRAM'
#!/bin/sh
# ParallelCluster's nodes may have a Python that is too old; the job keeps its own.
python=/opt/trainshed/bin/python3
[ -x "$python" ] || python=python3
exec "$python" -S -E /opt/trainshed/current/resume "$@"
PROGRAM
  # Each user's jobs write here; nobody deletes what another one wrote. A file system that takes no
  # directories of root (root squash) costs the records, and no boot.
  if [[ -n $shared ]] && install -d -m 0755 "$shared/trainshed" && install -d -m 1777 "$shared/trainshed/jobs"; then
    write_file "${ROOT_DIR:-}/etc/trainshed/records" 0644 root <<<"$shared/trainshed"
  else
    shared=""
  fi
  echo "install_resume: trainshed-resume is there, records: ${shared:-none}"
}

main "$@"
