"""Many institutions are synthesised side by side, a share of them in a process.

One process uses one core, and most of the time waits for Node. Each share becomes an assembly
inside the assembly, as the CDK's own stages do, and the command line finds the stacks in them.
docs/performance.md has the measurements.
"""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from pathlib import Path

from trainshed.cli.checked import load_all
from trainshed.config import Institution

# A process costs as much as some five institutions before it makes its first stack.
FEWEST_A_SHARE = 10
MOST_A_SHARE = 25

# Names of the institutions of a share, for the process that synthesises it.
SHARE = "TRAINSHED_SHARE"


def share_of_this_process(
    app: Path, *, folder: Path | None = None, arguments: Sequence[str] = ()
) -> list[Institution]:
    """Return the institutions to synthesise here; none where other processes did them all.

    Args:
        app: The app's file, which those processes run.
        folder: Folder of the institution files. Default: ``institutions`` beside the app.
        arguments: What the app is given, for those processes too.

    Raises:
        ConfigError: With every fault of every file; or there is no institution of that name.
        SystemExit: A share failed; its output was printed.
    """
    folder = folder or app.with_name("institutions")
    if SHARE in os.environ:
        return [i for name in os.environ[SHARE].split() for i in load_all(folder, name)]
    context = json.loads(os.environ.get("CDK_CONTEXT_JSON", "{}"))
    institutions = load_all(folder, context.get("institution"))
    shares = cut([institution.name for institution in institutions])
    if len(shares) == 1:
        return institutions
    _synthesise_side_by_side([str(app), *arguments], shares)
    return []


def cut(names: Sequence[str]) -> list[list[str]]:
    """Cut institutions into shares that differ by one at most, the same on every machine."""
    most_useful = max(1, math.ceil(len(names) / FEWEST_A_SHARE))
    count = min(most_useful, 2 * math.ceil(len(names) / (2 * MOST_A_SHARE)))
    count = max(1, count)
    starts = [round(len(names) * place / count) for place in range(count + 1)]
    return [list(names[start:end]) for start, end in pairwise(starts)]


def _synthesise_side_by_side(command: Sequence[str], shares: Sequence[Sequence[str]]) -> None:
    outdir = Path(os.environ.get("CDK_OUTDIR", "cdk.out"))
    folders = [f"assembly-{number}" for number in range(1, len(shares) + 1)]

    def synthesise(share: Sequence[str], folder: str) -> subprocess.CompletedProcess[str]:
        environment = {**os.environ, SHARE: " ".join(share), "CDK_OUTDIR": str(outdir / folder)}
        return subprocess.run(  # noqa: S603  the app itself
            [sys.executable, *command], env=environment, capture_output=True, text=True, check=False
        )

    with ThreadPoolExecutor(max_workers=os.cpu_count()) as processes:
        done = list(processes.map(synthesise, shares, folders))
    for process in done:
        sys.stdout.write(process.stdout)
        sys.stderr.write(process.stderr)
    if any(process.returncode for process in done):
        sys.exit(1)
    version = json.loads((outdir / folders[0] / "manifest.json").read_text())["version"]
    artifacts = {
        folder: {"type": "cdk:cloud-assembly", "properties": {"directoryName": folder}}
        for folder in folders
    }
    manifest = {"version": version, "artifacts": artifacts}
    (outdir / "manifest.json").write_text(json.dumps(manifest, indent=2))
    (outdir / "cdk.out").write_text(json.dumps({"version": version}))
