"""A real logrotate keeps the node's own logs small by the rule that the boot writes."""

from __future__ import annotations

import shutil
from pathlib import Path

from trainshed._assets import ASSETS

from . import sandbox

# A boot that writes while its log is rotated has the file open to append.
SCRIPT = """
/mnt/node/rotate_logs.sh
mkdir /var/log/trainshed
cd /var/log/trainshed
echo small >clock.log
exec 3>>packages.log
head -c 21M /dev/zero >&3
rotate() { logrotate --state /tmp/state "$@" /etc/logrotate.d/trainshed; }
rotate
echo after >&3
cat packages.log
ls
for _ in 1 2 3 4 5; do
  echo more >&3
  rotate --force
done
ls
"""


def test_logs_are_rotated_and_a_boot_that_runs_writes_on(tmp_path: Path) -> None:
    shutil.copytree(ASSETS / "node", tmp_path / "node")
    root = sandbox.BUILD_ROOTS["24.11"]
    done = sandbox.run(root, tmp_path, "bash", "-euc", SCRIPT)
    assert (done.returncode, done.stderr) == (0, "")
    first, last = done.stdout.split("after\n")[1].split("packages.log.1.gz\n", 1)
    assert done.stdout.startswith("rotate_logs: on\nafter\n")
    assert first == "clock.log\npackages.log\n"
    kept = [name for name in last.split() if name.startswith("packages.log")]
    assert kept == ["packages.log", *(f"packages.log.{number}.gz" for number in (1, 2, 3, 4))]
