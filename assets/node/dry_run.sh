#!/bin/bash
# usage: dry_run.sh CONF_DIR [ROOT_DIR]    starts a slurmctld on a copy of a configuration and prints its complaints
#
# The daemon runs without network, database and nodes and changes nothing outside its copy, so a
# live cluster does not notice it. QOS of partitions are left out: without a database none is known,
# and that they are there is slurm_accounts.py's business. Exit code: 0 it came up without an error or a warning, 1 it
# complained or crashed, 2 it could not be tried, which says nothing of the configuration: no room, no
# memory, killed. ROOT_DIR is the root of its programs, by default the host's own.
set -euo pipefail

# What is told apart from a live daemon's: identity, state, logs and the database.
readonly REPLACED='AuthType|CryptoType|CredType|StateSaveLocation|SlurmctldLogFile|SlurmctldPidFile|SlurmUser|SlurmctldParameters|AccountingStorage[A-Za-z]*|JobComp[A-Za-z]*'
# Of the machine, and of the programs that start slurmctld.
readonly UNTRIED='No space left|failed to create file|Error writing file|Disk quota|Cannot allocate memory|Resource temporarily unavailable|Input/output error|Too many open files|Read-only file system|error while loading shared libraries|^(unshare|chroot|mount|ip|hostname|touch|cp|cat|sed|mkdir|RTNETLINK answers): '
# No state, no database, no PMIx library (which only srun would miss), a busy machine.
readonly EXPECTED='state file|state save file|fed_mgr_state|can only be used with SlurmDBD|Job accounting information gathered|Even though we are collecting accounting|pmix|PMIx|MPI: Cannot create context|gettimeofday'

copy_configuration() {
  local from=$1 to=$2
  cp -R "$from"/. "$to"
  find "$to" -name '*.conf' -exec sed -i -E \
    -e "s/^[[:space:]]*($REPLACED)[[:space:]]*=.*//I" \
    -e '/^[[:space:]]*PartitionName=/I s/[[:space:]](QOS|AllowQos|DenyQos)=[^[:space:]]*//Ig' {} +
  mkdir "$to/state"
  cat >>"$to/slurm.conf" <<EOF
AuthType=auth/none
CredType=cred/none
StateSaveLocation=$3/state
SlurmctldPidFile=$3/slurmctld.pid
SlurmUser=root
EOF
}

# Reads slurm.conf and its includes on standard input.
first_controller() {
  sed -n -E 's/^[[:space:]]*SlurmctldHost[[:space:]]*=[[:space:]]*([^(#[:space:]]+).*/\1/Ip' | sed -n 1p
}

node_names() {
  grep -hoiE '^[[:space:]]*NodeName=[^[:space:]]+' | cut -d= -f2 | grep -vix default || true
}

# Runs as the first process of its namespaces, which end with it.
in_namespaces() {
  local root=$1 inside=$2 host=$3
  hostname "$host"
  ip link set lo up
  # With loopback addresses alone getaddrinfo waits ten seconds a name.
  ip address add 10.255.255.1/24 dev lo
  mount --make-rprivate /
  touch "$root/etc/hosts"
  mount --bind "$root$inside/hosts" "$root/etc/hosts"
  mount -t proc proc "$root/proc"
  exec chroot "${root:-/}" slurmctld -D -c -i -f "$inside/slurm.conf"
}

run_slurmctld() {
  local root=$1 inside=$2 host=$3 work=$1$2 name pid tries code=0
  export SLURM_CONF=$inside/slurm.conf
  if ! chroot "${root:-/}" scontrol show hostnames localhost >/dev/null 2>"$work/said"; then
    return
  fi
  {
    echo "127.0.0.1 localhost $host"
    for name in $(cat "$work"/*.conf | node_names); do
      chroot "${root:-/}" scontrol show hostnames "$name" | sed 's/^/127.0.0.1 /'
    done
  } >"$work/hosts"
  : >"$work/said"
  unshare --net --uts --mount --pid --fork --kill-child=KILL \
    "$0" --in-namespaces "$root" "$inside" "$host" >"$work/said" 2>&1 &
  pid=$!
  for ((tries = 0; tries < 600; tries++)); do
    if grep -qE 'Running as primary|fatal:' "$work/said"; then
      break
    elif ! kill -0 "$pid" 2>/dev/null; then
      wait "$pid" 2>/dev/null || code=$?
      # ILL, ABRT, BUS, FPE, SEGV: it crashed. By another signal somebody ended it.
      [[ $code != 13[2-69] ]] || echo "fatal: slurmctld ended with code $code" >>"$work/said"
      break
    fi
    sleep 0.05
  done
  kill -KILL "$pid" 2>/dev/null || true
  wait "$pid" 2>/dev/null || true
}

complaints() {
  grep -iE 'error|fatal|warn|invalid|obsolete|ignor|deprecat' "$1" | grep -vE "$EXPECTED" |
    sed -E 's/^(slurmctld|scontrol): //; s/^\[[^]]*\] //' | sort -u || true
}

main() {
  if [[ ${1:-} == --in-namespaces ]]; then
    in_namespaces "$2" "$3" "$4"
  fi
  local from=$1 root=${2:-/} work host said
  root=${root%/}
  trap 'exit 2' EXIT
  work=$(mktemp -d "$root/tmp/slurm-dry-run.XXXXXX")
  # shellcheck disable=SC2064 # now: the variable is local
  trap "rm -rf '$work'; exit 2" EXIT
  copy_configuration "$from" "$work" "${work#"$root"}"
  host=$(cat "$work"/*.conf | first_controller)
  run_slurmctld "$root" "${work#"$root"}" "$host"
  said=$(complaints "$work/said")
  if grep -E "$UNTRIED" "$work/said"; then
    return
  elif [[ -z $said ]] && ! grep -q 'Running as primary' "$work/said"; then
    echo "slurmctld did not come up: $(tail -n 1 "$work/said")"
    return
  fi
  # shellcheck disable=SC2064
  trap "rm -rf '$work'" EXIT
  if [[ -n $said ]]; then
    echo "$said"
    return 1
  fi
}

main "$@"
