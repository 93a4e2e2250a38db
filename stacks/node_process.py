"""Python talks to the CDK's Node process itself, where jsii would put a process in between.

jsii starts a Node process that starts a second one, and copies each message between it and Python:
a tenth of a synthesis. ``JSII_RUNTIME`` is jsii's own variable for another program (jsii 1.142.0,
``jsii/_kernel/providers/process.py``, read 2026-11-30); ours, ``jsii_runtime.js``, is the second
process at the end of the first one's pipes.
"""

from __future__ import annotations

import atexit
import importlib.util
import os
import shutil
from pathlib import Path
from tempfile import mkdtemp

RUNTIME = Path(__file__).with_name("jsii_runtime.js")

# How jsii's second process takes its messages is nobody's promise, so it is looked up.
CHANNEL = b"readFD:3,writeFD:3"


def talk_to_node_directly() -> bool:
    """Have jsii start the CDK's Node process without one in between.

    Call it before ``aws_cdk`` is imported. Nothing is done where ``JSII_RUNTIME`` is set already,
    or where jsii's program takes its messages in another way: that synthesis takes a tenth longer.

    Returns:
        Whether it will.
    """
    jsii = importlib.util.find_spec("jsii")
    if "JSII_RUNTIME" in os.environ or jsii is None or jsii.origin is None:
        return False
    embedded = Path(jsii.origin).parent / "_embedded" / "jsii"
    program, worker = embedded / "lib__program.js", embedded / "lib__runtime-index-worker.js"
    if not (program.exists() and worker.exists()) or CHANNEL not in program.read_bytes():
        return False
    # The program looks for the worker beside itself, under its own name.
    folder = Path(mkdtemp(prefix="trainshed-jsii-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    for file in (program, worker):
        shutil.copyfile(file, folder / file.name.removeprefix("lib__"))
    os.environ["JSII_RUNTIME"] = str(RUNTIME)
    # jsii gives Node this as an argument; jsii_runtime.js has the other half of it.
    os.environ["NODE_PRESERVE_SYMLINKS"] = "1"
    os.environ["TRAINSHED_JSII_PROGRAM"] = str(folder / "program.js")
    return True
