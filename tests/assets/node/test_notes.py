"""What a changed file asks for is noted before the file changes, until it is done."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from trainshed._assets import asset

SYSTEMCTL = """\
#!/bin/bash
echo "$*" >>"$CALLS"
[[ $1 != "${KILL:-}" ]] || kill -9 $PPID
[[ $1 != "${FAIL:-}" ]]
"""


@pytest.fixture
def node(tmp_path: Path) -> Path:
    (tmp_path / "bin").mkdir()
    for name, text in (("systemctl", SYSTEMCTL), ("chown", ""), ("journalctl", "echo no key")):
        path = tmp_path / "bin" / name
        path.write_text(text if text.startswith("#!") else f"#!/bin/bash\n{text}\n")
        path.chmod(0o755)
    return tmp_path


def run(
    node: Path, text: str, step: str = "ensure_running a.service", **variables: str
) -> tuple[int, list[str], str]:
    """Write a file of a daemon and run a step; return code, calls of systemctl, words."""
    calls = node / "calls"
    calls.write_text("")
    owner = subprocess.check_output(["id", "-un"], text=True).strip()
    script = (
        f'set -euo pipefail; source "{asset("node", "common.sh")}"; '
        f'printf %s "{text}" | write_file "{node}/file" 0644 {owner} a.service; {step}'
    )
    done = subprocess.run(
        ["/bin/bash", "-c", script, "step.sh"],
        env={
            "PATH": f"{node}/bin:/usr/bin:/bin",
            "ROOT_DIR": str(node),
            "CALLS": str(calls),
            **variables,
        },
        capture_output=True,
        text=True,
        check=False,
    )
    return done.returncode, calls.read_text().splitlines(), done.stderr


RESTARTED = ["daemon-reload", "restart a.service"]


def test_a_change_restarts_its_daemon_once(node: Path) -> None:
    assert run(node, "x") == (0, RESTARTED, "")
    assert run(node, "x") == (0, ["start a.service"], "")


@pytest.mark.parametrize("moment", ["daemon-reload", "restart"])
def test_a_restart_that_was_not_reached_is_made_by_the_next_run(node: Path, moment: str) -> None:
    run(node, "x")
    code, _, _ = run(node, "y", KILL=moment)
    assert code and (node / "file").read_text() == "y"
    assert run(node, "y") == (0, RESTARTED, "")
    assert run(node, "y") == (0, ["start a.service"], "")


def test_a_restart_that_fails_is_made_by_the_next_run(node: Path) -> None:
    assert run(node, "x", FAIL="restart") == (
        1,
        RESTARTED,
        "step: a.service does not start: no key\n",
    )
    assert run(node, "x") == (0, RESTARTED, "")


def test_the_note_stands_before_the_file_does(node: Path) -> None:
    (node / "bin/mv").write_text("#!/bin/bash\nkill -9 $PPID\n")
    (node / "bin/mv").chmod(0o755)
    code, calls, _ = run(node, "x")
    assert (code != 0, calls, (node / "file").exists()) == (True, [], False)
    assert (node / "var/lib/trainshed/pending/a.service").exists()


def test_a_file_of_no_daemon_asks_for_nothing(node: Path) -> None:
    step = 'settle a.service; write_file "$ROOT_DIR/other" 0644 root <<<x; ensure_running a.service'
    assert run(node, "x", step) == (0, ["start a.service"], "")
