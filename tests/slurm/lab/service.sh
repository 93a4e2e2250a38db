#!/bin/bash
# usage: service.sh munge|mariadb|slurmdbd|slurmctld|slurmd [ARG]...    starts a daemon on this machine
set -euo pipefail

start_munge() {
  chown munge: /run/munge
  setpriv --reuid=munge --regid=munge --clear-groups munged \
    --log-file=/run/munge/munged.log --pid-file=/run/munge/munged.pid --seed-file=/run/munge/seed
}

start_mariadb() {
  local data=/var/spool/mysql socket=/run/mysqld/mysqld.sock
  chown mysql: /run/mysqld
  # Labs share the host's /tmp and have equal process ids, of which temporary tables are named.
  export TMPDIR=/var/spool/mysql-tmp
  install -d -o mysql -g mysql "$TMPDIR"
  if [[ ! -d $data/mysql ]]; then
    mkdir -p "$data"
    chown mysql: "$data"
    mariadb-install-db --no-defaults --user=mysql --datadir="$data" --skip-test-db \
      --auth-root-authentication-method=socket >/var/spool/mysql-install.log 2>&1
  fi
  setsid mariadbd --no-defaults --user=mysql --datadir="$data" --socket="$socket" \
    --pid-file=/run/mysqld/mysqld.pid --bind-address=127.0.0.1 --innodb-buffer-pool-size=256M \
    --innodb-lock-wait-timeout=900 --innodb-log-file-size=64M --innodb-flush-log-at-trx-commit=0 \
    >/var/spool/mysqld.log 2>&1 </dev/null &
  wait_until mariadb-admin --no-defaults -S "$socket" ping
  mariadb --no-defaults -S "$socket" -e "
    CREATE DATABASE IF NOT EXISTS slurm_acct_db;
    CREATE USER IF NOT EXISTS 'slurm'@'localhost' IDENTIFIED BY 'lab';
    GRANT ALL ON slurm_acct_db.* TO 'slurm'@'localhost';"
}

start_slurmdbd() {
  slurmdbd
  wait_until bash -c 'exec 3<>/dev/tcp/127.0.0.1/6819'
}

start_slurmctld() {
  mkdir -p /var/lib/slurm/slurmctld
  chown slurm: /var/lib/slurm /var/lib/slurm/slurmctld
  slurmctld "$@"
}

start_slurmd() {
  mkdir -p /var/spool/slurmd
  # -b: the machines share the host's boot time, which tells slurmctld nothing.
  slurmd -b "$@"
}

wait_until() {
  local tries
  for ((tries = 0; tries < 2400; tries++)); do
    if "$@" >/dev/null 2>&1; then
      return
    fi
    sleep 0.05
  done
  echo "service.sh: '$*' did not succeed in 120 s" >&2
  return 1
}

main() {
  local service=$1
  shift
  chown slurm: /var/log/slurm
  "start_$service" "$@"
}

main "$@"
