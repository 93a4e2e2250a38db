"""GPUs, EFA and NCCL for a lab's machines: programs and files that say what real H200 said.

The checks of a held node and the gate's job are the ones that ship; what they ask is answered from
the recordings of ``tests/fixtures/health``. A test gives a node a fault, or the all-reduce another
bandwidth, and takes it back.
"""

from __future__ import annotations

import shutil
from pathlib import Path

from tests.fixtures.health.node import Fault, stand_in

ON_MACHINES = Path("/srv/fsx/lab-hardware")
"""Every machine has it, beside its file systems."""
_SEEN_AS = Path("/run/lab-hardware")
_GATE_UNIT = f"""\
[Service]
Environment=ROOT_DIR={_SEEN_AS}/root
Environment=PATH={_SEEN_AS}/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
ExecStartPre=/usr/local/sbin/lab-hardware
"""
# A node's own, or that of all; what the node has written there stays.
_BECOME = f"""\
#!/bin/bash
set -eu
from={ON_MACHINES}/$(hostname)
[[ -d $from ]] || from={ON_MACHINES}/healthy
rm -rf {_SEEN_AS}.new
cp -a "$from" {_SEEN_AS}.new
if [[ -d {_SEEN_AS}/root/run ]]; then
  cp -a {_SEEN_AS}/root/run {_SEEN_AS}.new/root/
fi
rm -rf {_SEEN_AS}
mv {_SEEN_AS}.new {_SEEN_AS}
"""
# The lines of tests/fixtures/health/h200/two/gate.txt, and of a plugin that has found EFA.
_ALL_REDUCE = f"""\
#!/usr/bin/python3
import json, os, pathlib, socket

expect = json.loads(pathlib.Path("/etc/trainshed/expect.json").read_text())
said = pathlib.Path("{ON_MACHINES}/bus_gb_s")
nodes, rank = int(os.environ["SLURM_JOB_NUM_NODES"]), int(os.environ["SLURM_PROCID"])
print(f"{{socket.gethostname()}}:1:2 [{{os.environ['SLURM_LOCALID']}}] NCCL INFO NET/OFI Selected "
      f"provider is efa, fabric is efa-direct (found {{expect['efa_interfaces']}} nics)")
rows = [r for r in expect["nccl"] if r["nodes_from"] <= nodes <= (r["nodes_to"] or nodes)]
rows = [r for r in rows if r["gpus_per_node"] == expect["gpus"]]
if rank == 0:
    for row in rows or [{{"size_bytes": 2**34, "measured_gb_s": 100.0}}]:
        speed = said.read_text().strip() if said.exists() else row["measured_gb_s"]
        size = row["size_bytes"]
        one = f"49478.0 {{speed}} {{speed}} 0"
        print(f" {{size}} {{size // 4}} float sum -1 {{one}} {{one}}", flush=True)
    print("# Out of bounds values : 0 OK", flush=True)
"""


def image_files() -> dict[str, str]:
    """Return the files that an image has for it."""
    return {"etc/systemd/system/trainshed-node-gate.service.d/lab.conf": _GATE_UNIT}


def image_programs() -> dict[str, str]:
    """Return the programs that an image has for it."""
    return {
        "usr/local/sbin/lab-hardware": _BECOME,
        "opt/nccl-tests/build/all_reduce_perf": _ALL_REDUCE,
    }


class Hardware:
    """The hardware of a lab's machines.

    Args:
        shared: Directory that machines see as ``/srv/fsx``.
    """

    def __init__(self, shared: Path) -> None:
        self._place = shared / ON_MACHINES.name
        self.become("healthy")

    def become(self, node: str, wrong: Fault | None = None) -> None:
        """Give a node, or all under the name ``healthy``, its hardware; a fault with it."""
        place = self._place / node
        fresh = place.with_suffix(".new")
        fresh.mkdir(parents=True)
        stand_in(fresh, wrong, seen_as=_SEEN_AS)
        ping = fresh / "bin" / "fi_pingpong"
        ping.write_text("#!/bin/sh\necho 'bytes   #sent   #ack     total'\n")
        ping.chmod(0o755)
        shutil.rmtree(place, ignore_errors=True)
        fresh.rename(place)

    def all_reduce(self, bus_gb_s: float | None) -> None:
        """Say how fast the next all-reduce is. None: as it was measured."""
        path = self._place / "bus_gb_s"
        path.unlink(missing_ok=True)
        if bus_gb_s is not None:
            path.write_text(f"{bus_gb_s}\n")
