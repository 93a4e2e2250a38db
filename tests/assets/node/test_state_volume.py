"""The state volume changes hands: the old head node is stopped first, another's is left alone."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from trainshed._assets import asset

# EC2 with one volume; an instance goes through the states of a file.
AWS = """\
#!/bin/bash
cd "$WORLD"
case "$2" in
describe-volumes) cat attachment ;;
describe-instances)
  [[ $* == *Tags* ]] && exec cat tags
  echo "is $(head -n 1 states)" >>calls
  head -n 1 states
  (($(wc -l <states) == 1)) || sed -i 1d states ;;
detach-volume) echo "$2" >>calls && printf 'None\\tNone\\n' >attachment ;;
attach-volume) echo "$2" >>calls && printf 'i-new\\tattached\\n' >attachment ;;
*) echo "$2" >>calls ;;
esac
"""


@pytest.fixture
def world(tmp_path: Path) -> Path:
    for name, text in (("aws", AWS), ("sleep", "#!/bin/bash\n")):
        path = tmp_path / "bin" / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
        path.chmod(0o755)
    (tmp_path / "calls").touch()
    (tmp_path / "attachment").write_text("i-old\tattached\n")
    (tmp_path / "tags").write_text("kait\thead\n")
    (tmp_path / "states").write_text("running\nstopping\nstopped\n")
    return tmp_path


def take(world: Path, seconds: int = 300) -> tuple[int, list[str], str]:
    """Take the volume for i-new; return code, what was done to EC2, words."""
    script = asset("node", "state_volume.sh")
    # All of it but the call of main.
    source = f"source <(sed '$d; s/WAIT_SECONDS=300/WAIT_SECONDS={seconds}/' '{script}')"
    text = f"{source}; take_volume us-east-2 kait vol-1 i-new"
    done = subprocess.run(
        ["/bin/bash", "-c", text, script],
        env={"PATH": f"{world}/bin:/usr/bin:/bin", "WORLD": str(world)},
        capture_output=True,
        text=True,
        check=False,
    )
    return done.returncode, (world / "calls").read_text().splitlines(), done.stderr


def test_the_old_head_node_has_stopped_before_the_volume_moves(world: Path) -> None:
    code, calls, said = take(world)
    assert (code, said) == (0, "")
    waited = ["stop-instances", "is running", "is stopping", "is stopped"]
    assert calls == [*waited, "detach-volume", "attach-volume"]


def test_an_old_head_node_that_does_not_stop_keeps_the_volume(world: Path) -> None:
    (world / "states").write_text("stopping\n")
    code, calls, said = take(world, seconds=0)
    assert (code, calls) == (1, ["stop-instances", "is stopping"])
    assert said == "state_volume: i-old is not stopped after 0 s\n"


@pytest.mark.parametrize(
    "tags", ["other\thead", "kait\tcompute", "None\tNone"], ids=["cluster", "role", "none"]
)
def test_an_instance_that_is_no_head_node_of_the_cluster_is_left_alone(
    world: Path, tags: str
) -> None:
    (world / "tags").write_text(f"{tags}\n")
    code, calls, said = take(world)
    assert (code, calls) == (1, [])
    assert said == (
        "state_volume: vol-1 is attached to i-old, which is no head node of the cluster kait; "
        "detach it yourself\n"
    )


@pytest.mark.parametrize("holder", ["i-new\tattached", "None\tNone"], ids=["own", "free"])
def test_a_volume_that_is_free_or_ours_stops_nobody(world: Path, holder: str) -> None:
    (world / "attachment").write_text(f"{holder}\n")
    code, calls, said = take(world)
    assert (code, said) == (0, "")
    assert calls == ([] if holder.startswith("i-new") else ["attach-volume"])
