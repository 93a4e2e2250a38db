"""Many institutions are synthesised side by side, a share of them in a process.

One process uses one core, and most of the time waits for Node. Each share becomes an assembly
inside the assembly, as the CDK's own stages do, and the command line finds the stacks in them.
docs/performance.md has the measurements.
"""

from __future__ import annotations

import importlib.util
import json
import math
import os
import sys
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO, TYPE_CHECKING, ClassVar, TypeVar

if TYPE_CHECKING:
    from trainshed.config import Institution

# A process costs as much as some five institutions before it makes its first stack.
FEWEST_A_SHARE = 10
MOST_A_SHARE = 25

# Node collects young objects a quarter as often; a share makes many, and most stay.
ROOM_FOR_YOUNG_OBJECTS = "--max-semi-space-size=64"

T = TypeVar("T")


def share_of_this_process(app: Path, *, folder: Path | None = None) -> list[Institution]:
    """Return the institutions to synthesise here; none where other processes did them all.

    Many institutions are cut into shares, and the process forks for each, before it imports the CDK
    and with what it has read. A child returns from here with its share, the parent with nothing
    once all children have ended.

    Args:
        app: The app's file.
        folder: Folder of the institution files. Default: ``institutions`` beside the app.

    Raises:
        SystemExit: With every fault of every file; or there is no institution of that name; or a
            share failed, and its output was printed.
    """
    folder = folder or app.with_name("institutions")
    chosen = json.loads(os.environ.get("CDK_CONTEXT_JSON", "{}")).get("institution")
    if chosen is None and len(list(folder.glob("*.yaml"))) > FEWEST_A_SHARE:
        _drop_assertions()
    # Imported here, as the process may have started anew.
    from trainshed.cli.checked import load_all
    from trainshed.config import ConfigError

    try:
        institutions = load_all(folder, chosen)
    except ConfigError as error:
        sys.exit(str(error))
    shares = cut(institutions)
    if len(shares) == 1:
        return institutions
    outdir = Path(os.environ.get("CDK_OUTDIR", "cdk.out"))
    outdir.mkdir(parents=True, exist_ok=True)
    names = [f"assembly-{number}" for number in range(1, len(shares) + 1)]
    children: list[_Child] = []
    for number, (share, name) in enumerate(zip(shares, names, strict=True)):
        at_once = os.cpu_count() or 1
        if number >= at_once:
            children[number - at_once].wait()
        child = _Child()
        if child.pid == 0:
            os.environ["CDK_OUTDIR"] = str(outdir / name)
            os.environ.setdefault("NODE_OPTIONS", ROOM_FOR_YOUNG_OBJECTS)
            return share
        children.append(child)
    codes = [child.wait() for child in children]
    for child in children:
        child.tell()
    if any(codes):
        sys.exit(1)
    _write_manifest(outdir, names)
    return []


def is_share() -> bool:
    """Return whether this process makes a share, an assembly inside the assembly."""
    return _Child.is_this_process


def cut(institutions: Sequence[T]) -> list[list[T]]:
    """Cut institutions into shares that differ by one at most, the same on every machine."""
    most_useful = max(1, math.ceil(len(institutions) / FEWEST_A_SHARE))
    count = min(most_useful, 2 * math.ceil(len(institutions) / (2 * MOST_A_SHARE)))
    count = max(1, count)
    starts = [round(len(institutions) * place / count) for place in range(count + 1)]
    return [list(institutions[start:end]) for start, end in pairwise(starts)]


def _drop_assertions() -> None:
    """Start this process anew as ``python -O``, where the CDK is compiled for that.

    The CDK's Python checks the types of all arguments in assertions, a tenth of a synthesis; the
    arguments here have been through mypy and the tests. ``make setup`` compiles it.
    """
    cdk = importlib.util.find_spec("aws_cdk")
    if sys.flags.optimize or cdk is None or cdk.origin is None:
        return
    if Path(importlib.util.cache_from_source(cdk.origin, optimization=1)).exists():
        sys.stdout.flush()
        os.execv(sys.executable, [sys.executable, "-O", *sys.orig_argv[1:]])  # noqa: S606  itself


class _Child:
    """A copy of this process; what it writes is kept until it is told."""

    pid: int
    """Its id here; 0 in the child itself."""
    is_this_process: ClassVar[bool] = False
    """Whether this process is one."""

    def __init__(self) -> None:
        # Both processes have them open until they end.
        self._written: dict[int, IO[bytes]] = {fd: TemporaryFile() for fd in (1, 2)}  # noqa: SIM115
        self._code: int | None = None
        sys.stdout.flush()
        sys.stderr.flush()
        self.pid = os.fork()
        if self.pid == 0:
            _Child.is_this_process = True
            for descriptor, file in self._written.items():
                os.dup2(file.fileno(), descriptor)

    def wait(self) -> int:
        """Wait for its end. Return its exit code; 0 where all is well."""
        if self._code is None:
            self._code = os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])
        return self._code

    def tell(self) -> None:
        """Write what it wrote."""
        for descriptor, stream in ((1, sys.stdout), (2, sys.stderr)):
            file = self._written[descriptor]
            file.seek(0)
            stream.write(file.read().decode(errors="replace"))
            file.close()


def _write_manifest(outdir: Path, folders: Sequence[str]) -> None:
    """Nest the assemblies of the shares in one."""
    version = json.loads((outdir / folders[0] / "manifest.json").read_text(encoding="utf-8"))[
        "version"
    ]
    artifacts = {
        folder: {"type": "cdk:cloud-assembly", "properties": {"directoryName": folder}}
        for folder in folders
    }
    manifest = {"version": version, "artifacts": artifacts}
    (outdir / "manifest.json").write_text(json.dumps(manifest, indent=2), encoding="utf-8")
    (outdir / "cdk.out").write_text(json.dumps({"version": version}), encoding="utf-8")
