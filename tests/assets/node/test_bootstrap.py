"""User data: fetches the scripts that the fleet document names, and waits for what is not there."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import zipfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from trainshed._assets import asset

_AWS = """\
#!/bin/bash
echo "$1 $2" >>calls
case "$1 $2" in
"ssm get-parameter") cat document ;;
"s3 cp")
  [[ -e bucket/${6##*/} ]] || {
    echo "fatal error: An error occurred (403) when calling the HeadObject operation: Forbidden" >&2
    exit 1
  }
  cp "bucket/${6##*/}" "$7" ;;
"ssm put-parameter") cp run/trainshed-record.json record ;;
esac
"""
_BOOT = """\
#!/bin/bash
echo "boot $1" >>calls
exit "$(cat code)"
"""


@dataclass
class Instance:
    """A directory that stands for a node, and for what it calls."""

    work: Path
    script: Path

    def offer(self, name: str, *, readable: bool = True) -> None:
        """Make a zip of scripts, name it in the document, and put it into the bucket."""
        (self.work / "bucket").mkdir(exist_ok=True)
        path = self.work / name
        with zipfile.ZipFile(path, "w") as made:
            made.writestr("boot.sh", _BOOT)
            made.writestr("name", name)
        sha256 = hashlib.sha256(path.read_bytes()).hexdigest()
        scripts = {"bucket": "b", "key": name, "sha256": sha256}
        (self.work / "document").write_text(json.dumps({"scripts": scripts}))
        if readable:
            path.rename(self.work / "bucket" / name)

    def program(self, name: str, text: str) -> None:
        """Put a program where the script looks first."""
        path = self.work / "fakes" / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
        path.chmod(0o755)

    def meanwhile(self, command: str) -> None:
        """Let something happen in each pause."""
        self.program(
            "sleep", f'#!/bin/bash\necho "sleep $1" >>calls\n[[ $1 == 1 ]] || {{ {command}; }}\n'
        )

    def boot(self) -> subprocess.CompletedProcess[str]:
        """Run the script as systemd does."""
        return subprocess.run(
            ["/bin/bash", str(self.script), "--boot"],
            cwd=self.work,
            capture_output=True,
            text=True,
            check=False,
            env={"HOME": str(self.work)},
        )

    @property
    def calls(self) -> list[str]:
        """What has been called, in its order."""
        return (self.work / "calls").read_text().splitlines()

    @property
    def record(self) -> dict[str, Any] | None:
        """The record of a failed boot."""
        path = self.work / "record"
        return dict(json.loads(path.read_text())) if path.exists() else None


@pytest.fixture
def node(tmp_path: Path) -> Instance:
    text = Path(asset("node", "user_data", "bootstrap.sh")).read_text()
    for placeholder in ("CLUSTER", "REGION", "ROLE", "QUEUE"):
        text = text.replace(f"@{placeholder}@", placeholder.lower())
    for path in ("/opt/trainshed", "/etc/trainshed", "/var/log/trainshed", "/run/trainshed"):
        text = text.replace(path, f"{tmp_path}{path}")
    text = text.replace('PATH="', f'PATH="{tmp_path}/fakes:{os.environ["PATH"]}:')
    script = tmp_path / "bootstrap.sh"
    script.write_text(text.replace(f"{tmp_path}/run/", "run/"))
    (tmp_path / "run").mkdir()
    (tmp_path / "code").write_text("0")
    made = Instance(tmp_path, script)
    made.program("aws", _AWS)
    made.program("curl", "#!/bin/bash\necho i-0123\n")
    made.meanwhile("true")
    return made


def test_a_node_boots_with_the_scripts_that_the_document_names(node: Instance) -> None:
    node.offer("one.zip")
    done = node.boot()
    assert done.returncode == 0, done.stdout
    assert node.calls == ["ssm get-parameter", "s3 cp", "boot role"]
    assert (node.work / "opt/trainshed/current/name").read_text() == "one.zip"


def test_scripts_that_may_not_be_read_yet_are_waited_for(node: Instance) -> None:
    node.offer("one.zip", readable=False)
    node.meanwhile("mv one.zip bucket/")
    done = node.boot()
    assert done.returncode == 0, done.stdout
    again = ["ssm get-parameter", "s3 cp"]
    assert node.calls == [*again, "sleep 15", *again, "boot role"]
    assert node.record is None


def test_a_document_that_is_rolled_back_meanwhile_is_followed(node: Instance) -> None:
    node.offer("old.zip")
    (node.work / "document").rename(node.work / "old")
    node.offer("gone.zip", readable=False)
    node.meanwhile("cp old document")
    done = node.boot()
    assert done.returncode == 0, done.stdout
    assert (node.work / "opt/trainshed/current/name").read_text() == "old.zip"


def test_a_step_that_may_not_read_its_file_has_the_document_read_again(node: Instance) -> None:
    node.offer("one.zip")
    (node.work / "code").write_text("75")
    node.meanwhile("echo 0 >code")
    done = node.boot()
    assert done.returncode == 0, done.stdout
    boots = ["ssm get-parameter", "boot role"]
    assert node.calls == ["ssm get-parameter", "s3 cp", "boot role", "sleep 15", *boots]


@pytest.mark.parametrize(
    ("readable", "step", "what"),
    [(False, "scripts", "s3://b/one.zip"), (True, "files", "a file that the fleet document names")],
    ids=["scripts", "a step's file"],
)
def test_what_stays_unreadable_becomes_a_record(
    node: Instance, readable: bool, step: str, what: str
) -> None:
    node.script.write_text(node.script.read_text().replace("AGAIN_SECONDS=600", "AGAIN_SECONDS=0"))
    node.offer("one.zip", readable=readable)
    (node.work / "code").write_text("75")
    assert node.boot().returncode == 1
    assert node.record is not None
    assert (node.record["step"], node.record["reason"]) == (
        step,
        f"bootstrap: {what} cannot be read after 0 s",
    )
    assert node.record["remedy"].startswith("deploy again: ")


def test_a_boot_that_fails_otherwise_fails_at_once(node: Instance) -> None:
    node.offer("one.zip")
    (node.work / "code").write_text("1")
    assert node.boot().returncode == 1
    assert node.calls == ["ssm get-parameter", "s3 cp", "boot role"]
