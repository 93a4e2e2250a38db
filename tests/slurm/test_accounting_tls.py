"""slurmdbd reaches a database that takes nothing but TLS, as the one that trainshed makes."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.slurm.lab.cluster import Cluster, parallelcluster_conf, write_policy
from tests.slurm.lab.machines import Lab
from tests.waiting import wait_until
from trainshed.slurm import SlurmPolicy

_ARGUMENTS = ("us-east-2", "127.0.0.1", "3306", "far", "arn:aws:secretsmanager:s", "slurm_acct_db")
# Secrets Manager, and systemd as far as it concerns slurmdbd.
_FAKES = {
    "aws": "cat /etc/slurm/secret",
    "systemctl": """\
case "$*" in
  "daemon-reload") exit ;;
  "restart slurmdbd.service") pkill -x slurmdbd && while pgrep -x slurmdbd; do sleep 0.1; done ;;
  "start slurmdbd.service") pgrep -x slurmdbd && exit ;;
esac
install -d -o slurm /run/slurmdbd
exec /run/lab/service.sh slurmdbd >/dev/null 2>&1
""",
}
_SOCKET = "/run/mysqld/mysqld.sock"
_ONLY_TLS = f"""
cd /var/spool
openssl req -x509 -newkey rsa:2048 -nodes -keyout key.pem -out cert.pem -days 2 -subj /CN=db 2>&1
chown mysql: key.pem cert.pem
mariadb -S {_SOCKET} -e "CREATE USER 'far'@'localhost' IDENTIFIED BY 'lab';
  GRANT ALL ON slurm_acct_db.* TO 'far'@'localhost'"
mariadb-admin -S {_SOCKET} shutdown
setsid mariadbd --no-defaults --user=mysql --datadir=/var/spool/mysql --socket={_SOCKET} \
  --bind-address=127.0.0.1 --ssl-cert=/var/spool/cert.pem --ssl-key=/var/spool/key.pem \
  --require-secure-transport=ON >/var/spool/mysqld.log 2>&1 </dev/null &
"""


@pytest.fixture
def head(tmp_path: Path) -> Iterator[Cluster]:
    """A head node whose database answers on TCP with TLS alone.

    Debian 12 has the libmariadb of Ubuntu 24.04; Debian 13's verifies every server.
    """
    with Lab(tmp_path, Path("/")) as lab:
        cluster = Cluster(lab)
        policy = SlurmPolicy()
        write_policy(cluster, parallelcluster_conf(policy, cluster.version), policy)
        lab.boot("head", "10.77.0.1")
        cluster.head.start("munge")
        cluster.head.start("mariadb")
        cluster.head.run("bash", "-euc", _ONLY_TLS)
        ping = ("mariadb-admin", "-S", _SOCKET, "ping")
        wait_until(lambda: cluster.head.try_run(*ping).returncode == 0, "MariaDB with TLS")
        yield cluster


def boot_step(cluster: Cluster, password: str) -> subprocess.CompletedProcess[str]:
    """Run accounting_database.sh as a boot does, with a secret as RDS writes it."""
    files = cluster.lab.work / "etc"
    for name, body in _FAKES.items():
        path = files / "fakes" / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(f"#!/bin/bash\n{body}\n")
        path.chmod(0o755)
    (files / "secret").write_text(json.dumps({"username": "far", "password": password}))
    programs = "PATH=/etc/slurm/fakes:/usr/sbin:/usr/bin:/sbin:/bin"
    return cluster.head.try_run("env", programs, "/run/node/accounting_database.sh", *_ARGUMENTS)


def test_the_shipped_script_brings_slurmdbd_to_a_database_by_tls(head: Cluster) -> None:
    done = boot_step(head, "lab")
    assert done.returncode == 0, done.stderr + head.log("slurmdbd")
    assert done.stdout.splitlines()[-1] == "accounting_database: slurmdbd answers"
    conf = ("stat", "-c", "%a %U", "/etc/slurm/slurmdbd.conf")
    assert head.head.run(*conf) == "600 slurm"
    first = head.head.run("pgrep", "-x", "slurmdbd")
    assert boot_step(head, "lab").returncode == 0
    assert head.head.run("pgrep", "-x", "slurmdbd") == first, "a second boot restarts nothing"
    # Secrets Manager gives the user another password.
    new = "ALTER USER 'far'@'localhost' IDENTIFIED BY 'other'"
    head.head.run("mariadb", "-S", _SOCKET, "-e", new)
    assert boot_step(head, "other").returncode == 0
    assert head.head.run("pgrep", "-x", "slurmdbd") != first


def test_a_password_that_the_database_refuses_is_told_at_once(head: Cluster) -> None:
    done = boot_step(head, "wrong")
    assert done.returncode == 1
    assert done.stderr.splitlines()[-1] == (
        "accounting_database: the database at 127.0.0.1:3306 does not let far in: ERROR 1045 "
        "(28000): Access denied for user 'far'@'localhost' (using password: YES)"
    )
    assert head.head.try_run("pgrep", "-x", "slurmdbd").returncode


def test_without_tls_the_database_refuses_slurmdbd(head: Cluster) -> None:
    file = head.lab.work / "etc" / "slurmdbd.conf"
    text = file.read_text().replace("StorageHost=localhost", "StorageHost=127.0.0.1")
    file.write_text(text.replace("StorageUser=slurm", "StorageUser=far"))
    head.head.run("slurmdbd")
    wait_until(lambda: "mysql_real_connect failed" in head.log("slurmdbd"), "a refusal")
