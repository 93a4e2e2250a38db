#!/bin/bash
# usage: accounting_database.sh REGION [HOST PORT USER PASSWORD_SECRET_ARN DATABASE]
#
# slurmdbd and its database: MariaDB on the state volume, or the external one that is given. The
# user of MariaDB on this node has no password: it is slurm itself, over the socket.
set -euo pipefail
# shellcheck source=assets/node/common.sh
source "$(dirname "$0")/common.sh"

readonly DATA=/state/mysql SOCKET=/run/mysqld/mysqld.sock
readonly WAIT_SECONDS=60

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
  write_file /etc/slurm/slurmdbd.conf 0600 slurm slurmdbd.service <<CONF
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
  write_file /etc/mysql/mariadb.conf.d/90-trainshed.cnf 0644 root mariadb.service <<CNF
[mysqld]
datadir = $DATA
bind-address = 127.0.0.1
innodb_buffer_pool_size = $(($(awk '/^MemTotal:/ {print $2}' /proc/meminfo) / 1024 / 4))M
innodb_log_file_size = 64M
innodb_lock_wait_timeout = 900
max_allowed_packet = 16M
CNF
  write_file /etc/systemd/system/mariadb.service.d/trainshed.conf 0644 root mariadb.service <<'UNIT'
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
  put_whole "$new" "$DATA"
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
  wait_database "$host" "$port" "$user" "$password"
  # The database that trainshed makes takes nothing but TLS, and libmariadb asks for it only when a
  # setting of it is given. It is not told Amazon's authority, so the server is not verified: the
  # database's security group lets in the head node alone.
  printf '%s\n' "StorageHost=$host" "StoragePort=$port" "StorageUser=$user" "StoragePass=$password" \
    "StorageLoc=$database" StorageParameters=SSL_CIPHER=HIGH
}

# slurmdbd only logs why it cannot connect, and tries for ever.
wait_database() {
  local host=$1 port=$2 user=$3 password=$4 end=$((SECONDS + WAIT_SECONDS)) said
  until said=$(mariadb --defaults-extra-file=<(
    printf '%s\n' [client] "host=$host" "port=$port" "user=$user" "password=\"$password\"" \
      ssl connect-timeout=10 ssl-verify-server-cert=0
  ) --execute 'SELECT 1' 2>&1 >/dev/null); do
    # Errors 1044, 1045, 1130 and 1698 stay: the user, its password, the node's address.
    if ((SECONDS >= end)) || grep -qE 'ERROR (1044|1045|1130|1698) ' <<<"$said"; then
      fail "the database at $host:$port does not let $user in: $(tail -n 1 <<<"$said")"
    fi
    sleep 2
  done
}

main "$@"
