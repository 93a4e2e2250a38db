"""A script that is killed, with all that it has started, when it calls a program."""

from __future__ import annotations

from dataclasses import dataclass

from .lab import Node

_DIR = "run/lab-killing"
_PROGRAM = """\
#!/bin/bash
export PATH=${{PATH#*:}}
echo >>/{dir}/calls
if (($(wc -l </{dir}/calls) == {call})); then
  {also}
  kill -9 0
fi
exec "${{0##*/}}" "$@"
"""
HALF_A_COPY = 'head -c 3 "${@: -2:1}" >"${@: -1}"'
"""What a cp leaves that is killed in the middle of a file."""


@dataclass(frozen=True)
class Moment:
    """When a script is killed.

    Args:
        program: Name of a program that it calls.
        call: Which call of it, from 1.
        also: What the program has done by then, in shell. Default: nothing.
    """

    program: str
    call: int = 1
    also: str = ":"

    def __str__(self) -> str:
        """Return its name among the cases of a test."""
        return f"{self.program} {self.call}{' by half' if self.also != ':' else ''}"


def kill(node: Node, moment: Moment, *command: str) -> None:
    """Run a command on a node and kill it at a moment.

    Raises:
        AssertionError: It does not get there.
    """
    folder = node.machine.files / _DIR
    folder.mkdir(exist_ok=True)
    shim = folder / moment.program
    shim.write_text(_PROGRAM.format(dir=_DIR, call=moment.call, also=moment.also))
    shim.chmod(0o755)
    (folder / "calls").write_text("")
    path = f"PATH=/{_DIR}:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
    try:
        # A session of its own, so that the whole group can be killed.
        done = node.machine.try_run("env", path, "LC_ALL=C.UTF-8", "setsid", "--wait", *command)
        calls = len((folder / "calls").read_text())
    finally:
        shim.unlink()
    assert done.returncode and calls == moment.call, f"{moment}: {done.stdout}{done.stderr}"
