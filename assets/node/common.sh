#!/bin/bash
# usage: source common.sh    what the steps of a node's boot share
#
# What a changed file asks for, such as the restart of a daemon, is noted on disk before the file changes,
# and the note goes when that is done: a boot that is killed in between leaves it to the next one.
readonly NOTES="${ROOT_DIR:-}/var/lib/trainshed/pending"

# usage: write_file PATH MODE OWNER [NOTE] < TEXT    a file that is as it should be keeps its time
#
# NOTE is what a change asks for: the unit that ensure_running restarts, or a name for "noted".
write_file() {
  # One name, so that a boot that is killed leaves nothing that the next one does not take up.
  local path=$1 mode=$2 owner=$3 note=${4:-} new=$1.new
  mkdir -p "${path%/*}"
  rm -f "$new"
  (umask 077 && cat >"$new")
  chmod "$mode" "$new"
  chown "$owner:" "$new"
  if [[ -f $path && $(stat -c '%a %U' "$path") == "${mode#0} $owner" ]] && cmp -s "$new" "$path"; then
    rm "$new"
  else
    [[ -z $note ]] || make_note "$note"
    mv -T "$new" "$path"
  fi
}

# usage: put_whole NEW DIR    gives a directory its name once all of it is on disk
#
# What has its name is not looked at again, and power that fails may leave empty files until then.
put_whole() {
  sync --file-system "$1"
  mv -T "$1" "$2"
}

make_note() {
  mkdir -p "$NOTES"
  : >"$NOTES/$1"
}

noted() {
  [[ -e $NOTES/$1 ]]
}

# usage: settle NOTE    what it asks for is done
settle() {
  rm -f "$NOTES/$1"
}

# usage: ensure_running UNIT    starts a daemon, or restarts it after a change of its files
ensure_running() {
  local action=start
  if noted "$1"; then
    systemctl daemon-reload
    action=restart
  fi
  systemctl "$action" "$1" || fail "$1 does not start: $(journalctl -u "$1" -n 3 -o cat --no-pager | paste -s -d ' ')"
  settle "$1"
}

# usage: retry SECONDS COMMAND [ARG]...    until it succeeds; its last words are printed when it does not
retry() {
  local end=$((SECONDS + $1)) said
  shift
  until said=$("$@" 2>&1); do
    if ((SECONDS >= end)); then
      printf '%s\n' "$said" >&2
      return 1
    fi
    sleep 0.5
  done
}

# usage: apt_get ARG...    waits for another apt, tries again, asks nothing
apt_get() {
  DEBIAN_FRONTEND=noninteractive apt-get --quiet=2 --yes -o DPkg::Lock::Timeout=300 \
    -o Acquire::Retries=3 -o Dpkg::Use-Pty=0 "$@"
}

fail() {
  echo "$(basename "$0" .sh): $*" >&2
  exit 1
}
