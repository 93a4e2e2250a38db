"""slurmdbd reaches a database that takes nothing but TLS, as the one that trainshed makes."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.slurm.lab.cluster import Cluster, parallelcluster_conf, write_policy
from tests.slurm.lab.machines import Lab, wait_until
from trainshed.slurm import SlurmPolicy

_SCRIPT = Path(__file__).parents[2] / "assets" / "node" / "accounting_database.sh"
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


def start_slurmdbd(cluster: Cluster, *settings: str) -> None:
    """Start slurmdbd against the database by TCP, with further settings."""
    file = cluster.lab.work / "etc" / "slurmdbd.conf"
    text = file.read_text().replace("StorageHost=localhost", "StorageHost=127.0.0.1")
    text = text.replace("StorageUser=slurm", "StorageUser=far")
    file.write_text("\n".join([text.rstrip(), *settings, ""]))
    cluster.head.run("slurmdbd")


def test_the_shipped_setting_makes_slurmdbd_use_tls(head: Cluster) -> None:
    (setting,) = re.findall(r"StorageParameters=\S+", _SCRIPT.read_text())
    start_slurmdbd(head, setting)
    show = ("timeout", "20", "sacctmgr", "-nP", "show", "cluster")
    wait_until(lambda: head.head.try_run(*show).returncode == 0, "slurmdbd")


def test_without_it_the_database_refuses_slurmdbd(head: Cluster) -> None:
    start_slurmdbd(head)
    wait_until(lambda: "mysql_real_connect failed" in head.log("slurmdbd"), "a refusal")
