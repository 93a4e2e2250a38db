#!/bin/bash
# usage: accounting_database.sh REGION [HOST PORT USER PASSWORD_SECRET_ARN DATABASE]
#
# slurmdbd and its database: MariaDB on the state volume, or the external one that is given. The
# user of MariaDB on this node has no password: it is slurm itself, over the socket.
set -euo pipefail
# shellcheck source=assets/node/common.sh
source "$(dirname "$0")/common.sh"

readonly DATA=/state/mysql SOCKET=/run/mysqld/mysqld.sock

main() {
  local region=$1 storage
  if (($# == 1)); then
    start_mariadb
    storage=$(printf '%s\n' StorageHost=localhost StorageUser=slurm StorageLoc=slurm_acct_db)
    # systemd starts slurmdbd after mariadb.service by the package's own unit.
  else
    storage=$(external "$region" "${@:2}")
  fi
  install -d -m 0755 -o slurm -g slurm /var/log/slurm
  CHANGED=no
  write_file /etc/slurm/slurmdbd.conf 0600 slurm <<CONF
AuthType=auth/munge
DbdHost=$(hostname)
SlurmUser=slurm
StorageType=accounting_storage/mysql
$storage
LogFile=/var/log/slurm/slurmdbd.log
PidFile=/run/slurmdbd/slurmdbd.pid
CONF
  ensure_running slurmdbd.service
  retry 120 sacctmgr --noheader --parsable2 show cluster ||
    fail "slurmdbd does not answer: $(tail -n 3 /var/log/slurm/slurmdbd.log | paste -s -d ' ')"
  echo "accounting_database: slurmdbd answers"
}

start_mariadb() {
  # MariaDB's advice of Slurm's accounting guide, "Slurm Accounting Configuration After Build".
  write_file /etc/mysql/mariadb.conf.d/90-trainshed.cnf 0644 root <<CNF
[mysqld]
datadir = $DATA
bind-address = 127.0.0.1
innodb_buffer_pool_size = $(($(awk '/^MemTotal:/ {print $2}' /proc/meminfo) / 1024 / 4))M
innodb_log_file_size = 64M
innodb_lock_wait_timeout = 900
max_allowed_packet = 16M
CNF
  write_file /etc/systemd/system/mariadb.service.d/trainshed.conf 0644 root <<'UNIT'
[Unit]
AssertPathIsMountPoint=/state
UNIT
  if [[ ! -e $DATA/ibdata1 ]]; then
    make_data
  fi
  ensure_running mariadb.service
  retry 60 mariadb-admin -S "$SOCKET" ping || fail "MariaDB does not answer"
  mariadb -S "$SOCKET" <<'SQL'
CREATE DATABASE IF NOT EXISTS slurm_acct_db;
CREATE USER IF NOT EXISTS 'slurm'@'localhost' IDENTIFIED VIA unix_socket;
GRANT ALL ON slurm_acct_db.* TO 'slurm'@'localhost';
SQL
}

# In another place first, so that an interrupted start leaves nothing that looks like a database.
make_data() {
  local new=$DATA.new
  rm -rf "$new"
  mkdir "$new"
  chown mysql: "$new"
  mariadb-install-db --user=mysql --datadir="$new" --skip-test-db \
    --auth-root-authentication-method=socket >/dev/null
  rmdir "$DATA"
  mv -T "$new" "$DATA"
}

external() {
  local region=$1 host=$2 port=$3 user=$4 secret=$5 database=$6 password
  password=$(aws secretsmanager get-secret-value --region "$region" --secret-id "$secret" \
    --query SecretString --output text) || fail "cannot read the secret $secret"
  if [[ $password == \{* ]]; then
    password=$(python3 -c 'import json, sys; print(json.load(sys.stdin)["password"])' <<<"$password")
  fi
  # slurmdbd.conf has no way to quote one: it would end there, or begin a comment.
  [[ $password != *[[:space:]\"\#\\]* ]] ||
    fail "the password in $secret has a blank, a quote, a # or a backslash, which slurmdbd.conf cannot hold; give the user another"
  # The database that trainshed makes takes nothing but TLS, and libmariadb asks for it only when a
  # setting of it is given. It is not told Amazon's authority, so the server is not verified: the
  # database's security group lets in the head node alone.
  printf '%s\n' "StorageHost=$host" "StoragePort=$port" "StorageUser=$user" "StoragePass=$password" \
    "StorageLoc=$database" StorageParameters=SSL_CIPHER=HIGH
}

main "$@"
