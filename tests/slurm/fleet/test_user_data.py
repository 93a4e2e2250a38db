"""cloud-init takes what the nodes give it."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

from trainshed._assets import ASSETS

from .image import BASE


def schema(text: str, tmp_path: Path) -> str:
    """Return what cloud-init's own schema check says of a file."""
    path = tmp_path / "file"
    path.write_text(text)
    # The image's programs, in mounts of their own.
    check = 'mount --bind "$2" "$1/mnt"; exec chroot "$1" cloud-init schema -c /mnt/file'
    done = subprocess.run(
        ["unshare", "--mount", "bash", "-euc", check, "--", str(BASE), str(tmp_path)],
        capture_output=True,
        text=True,
        check=False,
    )
    return done.stdout + done.stderr


def hostname_setting() -> str:
    """Return the setting that set_hostname.sh writes for cloud-init."""
    script = (ASSETS / "node/set_hostname.sh").read_text()
    found = re.search(r'99-trainshed-hostname\.cfg 0644 root <<<"(.*)"', script)
    assert found
    return f"#cloud-config\n{found[1]}\n"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (hostname_setting(), "Valid schema"),
        (hostname_setting().replace("hostname", "hostnam"), "Additional properties are not"),
    ],
    ids=["ours", "misspelt"],
)
def test_the_schema_check_takes_the_setting_of_the_host_name(
    tmp_path: Path, text: str, said: str
) -> None:
    assert said in schema(text, tmp_path)


def test_the_user_data_is_known_as_a_script(tmp_path: Path) -> None:
    said = schema((ASSETS / "node/user_data/bootstrap.sh").read_text(), tmp_path)
    assert "text/x-shellscript" in said
