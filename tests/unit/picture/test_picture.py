from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Callable
from itertools import combinations
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
import yaml

from trainshed.cli.checked import load_checked
from trainshed.config import Institution
from trainshed.picture import picture
from trainshed.picture.cards import tiles_for
from trainshed.picture.facts_shown import DASH, DOT, TIMES
from trainshed.picture.style import DARK, LIGHT
from trainshed.picture.svg import arrow, fitted

ROOT = Path(__file__).parents[3]
SVG = "{http://www.w3.org/2000/svg}"
EXAMPLES = ("kait", "minimal", "full")


def _read(name: str) -> Institution:
    return load_checked(ROOT / "institutions" / f"{name}.yaml")


def _texts(svg: str) -> list[str]:
    return [text.text or "" for text in ElementTree.fromstring(svg).iter(f"{SVG}text")]


def _minimal() -> dict[str, Any]:
    data: dict[str, Any] = yaml.safe_load((ROOT / "institutions" / "minimal.yaml").read_text())
    return data


def _loaded(tmp_path: Path, data: dict[str, Any]) -> Institution:
    path = tmp_path / "changed.yaml"
    path.write_text(yaml.safe_dump(data))
    return load_checked(path)


@pytest.mark.parametrize("name", EXAMPLES)
def test_pictures_of_the_examples(name: str, golden: Callable[[str, object], None]) -> None:
    golden(f"picture/{name}.svg", picture(_read(name)))


def test_the_picture_in_the_documentation_is_current() -> None:
    shown = (ROOT / "docs" / "kait.svg").read_text()
    assert shown == picture(_read("kait")), "trainshed picture institutions/kait.yaml"


def test_the_same_institution_gives_the_same_bytes() -> None:
    code = (
        "from pathlib import Path; import sys, hashlib; from trainshed.picture import picture; "
        "from trainshed.cli.checked import load_checked; "
        "print(hashlib.sha256(picture(load_checked(Path(sys.argv[1]))).encode()).hexdigest(), "
        "'aws_cdk' in sys.modules)"
    )
    command = [sys.executable, "-c", code, str(ROOT / "institutions" / "full.yaml")]
    first, second = (
        subprocess.run(
            command, capture_output=True, text=True, check=True, env={"PYTHONHASHSEED": seed}
        ).stdout
        for seed in ("1", "2")
    )
    assert first == second
    assert first.endswith(" False\n")


@pytest.mark.parametrize("name", EXAMPLES)
def test_it_is_said_in_words_what_it_shows(name: str) -> None:
    root = ElementTree.fromstring(picture(_read(name)))
    assert root.get("role") == "img"
    named = root.get("aria-labelledby", "").split()
    words = {part.get("id"): part.text or "" for part in root if part.get("id")}
    assert set(words) == set(named)
    assert words[f"{name}-title"] == f"GPU cluster {name}"
    assert "runs Slurm over these queues" in words[f"{name}-desc"]


@pytest.mark.parametrize("name", EXAMPLES)
def test_it_asks_for_nothing_from_outside(name: str) -> None:
    svg = picture(_read(name)).replace('xmlns="http://www.w3.org/2000/svg"', "")
    for word in ("http", "url(", "@import", "<script", "<image", "href"):
        assert word not in svg


@pytest.mark.parametrize("name", EXAMPLES)
def test_no_rule_reaches_the_page_around_it(name: str) -> None:
    style = ElementTree.fromstring(picture(_read(name))).find(f"{SVG}style")
    assert style is not None and style.text
    rules = style.text.replace("@media (prefers-color-scheme:dark){", "")
    selectors = re.findall(r"([^{}]+)\{", rules)
    assert len(selectors) > 30
    assert all(part.strip().startswith(".trainshed-picture ") for part in selectors)


@pytest.mark.parametrize("name", EXAMPLES)
def test_everything_stands_inside_the_page(name: str) -> None:
    root = ElementTree.fromstring(picture(_read(name)))
    _, _, width, height = map(float, root.get("viewBox", "").split())
    for part in root.iter():
        x, y = float(part.get("x", 0)), float(part.get("y", 0))
        assert 0 <= x <= width and 0 <= y <= height
        assert x + float(part.get("width", 0)) <= width
        assert y + float(part.get("height", 0)) <= height


CARDS = ("card", "storage-edge")


def _cards(svg: str) -> list[tuple[float, float, float, float]]:
    """Left, top, right and bottom of every card."""
    return [
        (x, y, x + float(part.get("width", 0)), y + float(part.get("height", 0)))
        for part in ElementTree.fromstring(svg).iter(f"{SVG}rect")
        if part.get("class") in CARDS
        for x, y in [(float(part.get("x", 0)), float(part.get("y", 0)))]
    ]


def _more_beside(data: dict[str, Any]) -> None:
    """As many cards beside the VPC as there can be, each with all its lines."""
    data["fleet"]["monitoring"] = {"detailed": True}
    data["fleet"]["accounting"] = {"create": {"second_zone": "us-east-1b"}}
    data["alerts"] = {
        "slack_secret_arn": "arn:aws:secretsmanager:us-east-1:111122223333:secret:s-AbCdEf",
        "routes": {"critical": "C0ONCALL00", "warning": "C0OPS00000", "info": "C0OPS00000"},
        "operators": ["hpc@example.edu"],
        "budget_usd_per_month": 1000,
    }
    data["storage"]["links"] = {"A": {"path": "/a", "prefix": "a/", "direction": "import"}}


@pytest.mark.parametrize("name", [*EXAMPLES, "bare", "with everything beside"])
def test_no_card_stands_on_another(name: str, tmp_path: Path) -> None:
    if name == "with everything beside":
        data = _minimal()
        _more_beside(data)
        institution = _loaded(tmp_path, data)
    else:
        institution = _read(name)
    cards = _cards(picture(institution))
    assert len(cards) >= 5
    for a, b in combinations(cards, 2):
        across = min(a[2], b[2]) - max(a[0], b[0])
        down = min(a[3], b[3]) - max(a[1], b[1])
        # Cards beside each other, or one above the other with room between them.
        assert across <= 0 or down <= -8, (a, b)


def test_it_names_the_numbers_that_matter() -> None:
    texts = _texts(picture(_read("kait")))
    for shown in (
        f"16 nodes{DOT}128 {TIMES} H200{DOT}230,400 GiB Lustre",
        f"16 {TIMES} p5en.48xlarge",
        "EFA interfaces a node",
        "28.1 GB/s",
        "/fsx/datasets",
        "import",
        "Session Manager",
        "NAT gateway in a public subnet",
    ):
        assert shown in texts, shown


def test_a_capacity_block_shows_its_window() -> None:
    texts = _texts(picture(_read("full")))
    assert f"4 Jan 2027 {DASH} 1 Mar 2027{DOT}56 days" in texts
    assert "drain 40 minutes before its end" in texts


def test_alerts_are_shown_only_where_there_are_some() -> None:
    assert "Alerts" in _texts(picture(_read("kait")))
    assert "Alerts" not in _texts(picture(_read("minimal")))


def test_each_gpu_is_a_dot() -> None:
    svg = picture(_read("kait"))
    assert svg.count('<circle cx="') == 128 + 3 + 1


def test_names_of_people_cannot_end_the_markup(tmp_path: Path) -> None:
    data = _minimal()
    data["storage"]["links"] = {
        "A": {"path": "/a", "prefix": "<b>&/", "direction": "both", "bucket": "my-bucket"}
    }
    svg = picture(_loaded(tmp_path, data))
    assert "my-bucket/&lt;b&gt;&amp;/" in svg
    ElementTree.fromstring(svg)


def test_an_existing_vpc_and_file_system_are_called_so(tmp_path: Path) -> None:
    network = {
        "zone": "us-east-1a",
        "existing": {
            "vpc_id": "vpc-0123456789abcdef0",
            "cidr": "10.0.0.0/16",
            "compute_subnet_id": "subnet-0123456789abcdef0",
        },
    }
    storage = {
        "existing": {
            "file_system_id": "fs-0123456789abcdef0",
            "dns_name": "fs-0123456789abcdef0.fsx.us-east-1.amazonaws.com",
            "mount_name": "fsx",
            "security_group_id": "sg-0123456789abcdef0",
        }
    }
    data = {**_minimal(), "network": network, "storage": storage}
    texts = _texts(picture(_loaded(tmp_path, data)))
    for shown in (
        "existing VPC vpc-0123456789abcdef0 10.0.0.0/16",
        "Private subnet subnet-0123456789abcdef0",
        "NAT gateway of the VPC",
        "fs-0123456789abcdef0",
        "existing file system",
    ):
        assert shown in texts, shown


@pytest.mark.parametrize("nodes", [1, 6, 7, 16, 64, 65, 256, 1000])
@pytest.mark.parametrize("room", [283.0, 624.0])
def test_any_number_of_nodes_fits_on_a_card(nodes: int, room: float) -> None:
    tiles = tiles_for(nodes, room)
    assert tiles.count(nodes) * tiles.nodes >= nodes
    assert tiles.columns(nodes, room) * (tiles.width + tiles.gap) - tiles.gap <= room
    assert tiles.height_of(nodes, room) <= 150


def test_a_box_of_several_nodes_says_so(tmp_path: Path) -> None:
    data = _minimal()
    data["fleet"]["queues"]["gpu"]["max_nodes"] = 1000
    assert "a box is 9 nodes" in _texts(picture(_loaded(tmp_path, data)))


@pytest.mark.parametrize(
    ("text", "width", "shown"),
    [("short", 200, "short"), ("a very long name", 60, "a very…"), ("ab", 1, "a…")],
)
def test_a_text_that_is_too_long_ends_in_an_ellipsis(text: str, width: float, shown: str) -> None:
    assert fitted(text, width, 15) == shown


def test_the_head_of_an_arrow_is_at_its_end() -> None:
    assert 'd="M10 0L1 -5.4L1 5.4Z"' in arrow(0, 0, 10, 0, "storage")
    assert 'd="M0 0L5.4 9L-5.4 9Z"' in arrow(0, 20, 0, 0, "storage")


def _luminance(colour: str) -> float:
    channels = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    return sum(weight * c for weight, c in zip((0.2126, 0.7152, 0.0722), linear, strict=True))


@pytest.mark.parametrize("palette", [LIGHT, DARK], ids=["light", "dark"])
@pytest.mark.parametrize(
    ("ink", "ground"),
    [
        ("ink", "card"),
        ("quiet", "card"),
        ("quiet", "page"),
        ("quiet", "vpc"),
        ("quiet", "region"),
        ("compute", "compute-ground"),
        ("storage", "storage-ground"),
        ("storage", "card"),
        ("storage", "region"),
        ("alert", "card"),
    ],
)
def test_text_stands_out_from_its_ground(palette: dict[str, str], ink: str, ground: str) -> None:
    dark, light = sorted((_luminance(palette[ink]), _luminance(palette[ground])))
    assert (light + 0.05) / (dark + 0.05) >= 4.5
