"""What the pages say to write into an institution file is right there."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from trainshed.cli.checked import load_checked

DOCS = Path(__file__).parents[3] / "docs"
HEAD = 'name: uni\naccount: "111122223333"\nregion: us-east-1\n'
PLACE = """\
network: {zone_id: use1-az4, vpc: {}}
storage: {lustre: {capacity_gib: 1200, throughput_mb_s_per_tib: 125}}
"""
QUEUES = (
    "  queues: {train: {instance_type: p5.48xlarge, max_nodes: 4, capacity: {kind: on_demand}}}\n"
)
DATABASE = "  accounting: {create: {second_zone: use1-az6}}\n"


@pytest.mark.parametrize(
    ("page", "key", "above", "below"),
    [
        pytest.param("deploy", "storage", HEAD, QUEUES, id="data that is brought back"),
        pytest.param("users", "policy", HEAD + PLACE, DATABASE + QUEUES, id="users"),
        pytest.param("users", "head_node", HEAD + PLACE, QUEUES, id="SSH"),
    ],
)
def test_a_file_that_a_page_begins_is_right(
    page: str, key: str, above: str, below: str, tmp_path: Path
) -> None:
    text = (DOCS / f"{page}.md").read_text()
    blocks = re.findall(r"^```yaml\n(.*?)^```$", text, re.DOTALL | re.MULTILINE)
    (block,) = (each for each in blocks if re.search(rf"^ *{key}:", each, re.MULTILINE))
    path = tmp_path / "uni.yaml"
    path.write_text(above + block + below)
    assert load_checked(path).cluster_name == "uni"
