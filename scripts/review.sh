#!/usr/bin/env bash
# Review what a range of commits changes, from both synthesised. Usage: review.sh BASE..HEAD OUT [trainshed review arguments...]
set -euo pipefail

# Writes OUT/review.md and OUT/review.html, and ends like trainshed review: 2 where something has to
# be acknowledged. A commit is synthesised with the code of that commit, by the packages installed
# here; its own trainshed comes first on the path.

main() {
  local range=${1:?usage: review.sh BASE..HEAD OUT [trainshed review arguments...]} out=${2:?give a folder for the result}
  shift 2
  local dots=".."
  # Three dots: since the branch left, as a pull request shows it.
  [[ $range == *...* ]] && dots="..."
  local base=${range%%"$dots"*} head=${range#*"$dots"}
  if [[ $range != *..* || -z $base || -z $head ]]; then
    echo "review: $range is no range of commits; write BASE..HEAD" >&2
    exit 1
  fi
  [ "$dots" = ".." ] || base=$(git merge-base "$base" "$head")
  scripts=$(cd "$(dirname "$0")" && pwd)
  cd "$(git rev-parse --show-toplevel)"
  mkdir -p "$out"
  out=$(cd "$out" && pwd)
  work=$(mktemp -d)
  trap 'clean_up' EXIT
  synthesise "$base" base
  synthesise "$head" head
  trainshed review "$work/base/assembly" "$work/head/assembly" \
    --markdown "$out/review.md" --html "$out/review.html" "$@"
}

synthesise() {
  local commit=$1 name=$2 tree="$work/$2/tree" assembly="$work/$2/assembly"
  mkdir -p "$work/$name"
  git worktree add --quiet --detach "$tree" "$commit"
  echo "review: synthesising $name, $(git -C "$tree" log -1 --format='%h %s')" >&2
  (
    cd "$tree"
    export PYTHONPATH="$tree/constructs:$tree"
    CDK_VALIDATION=false CDK_OUTDIR=$assembly python app.py >&2
    # One process: each costs as much to start as ten files to render.
    python "$scripts/render_each.py" "$assembly/rendered" institutions/*.yaml
  )
}

clean_up() {
  local name
  for name in base head; do
    git worktree remove --force "$work/$name/tree" 2>/dev/null || true
  done
  rm -rf "$work"
}

main "$@"
