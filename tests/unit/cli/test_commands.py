"""The ``trainshed`` command on files that are right and files that are wrong."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
import yaml

from tests import examples
from trainshed.cli import main
from trainshed.cli.checked import load_all
from trainshed.config import ConfigError
from trainshed.review.assembly import Assembly

INSTITUTIONS = Path(__file__).parents[3] / "institutions"


def test_validate_accepts_every_example(capsys: pytest.CaptureFixture[str]) -> None:
    files = [str(path) for path in examples.PATHS]
    assert main(["validate", *files]) == 0
    assert capsys.readouterr().out.count(" is right\n") == len(files)


def test_validate_tells_the_faults_of_every_file(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "a.yaml").write_text("name: A\n")
    (tmp_path / "b.yaml").write_text("nmae: b\n")
    assert main(["validate", str(tmp_path / "a.yaml"), str(tmp_path / "b.yaml")]) == 1
    errors = capsys.readouterr().err
    assert "a.yaml:1: name: 'A' is not a name" in errors
    assert "b.yaml:1: nmae: unknown key; did you mean 'name'?" in errors


@pytest.mark.parametrize(
    ("file", "fault"),
    [
        ("foo.yaml", "name is 'bar'; name the file bar.yaml"),
        ("bar.yml", "is not read; name it bar.yaml"),
    ],
    ids=["another name", "another ending"],
)
def test_validate_refuses_a_file_that_synthesis_would_not_take_under_its_name(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], file: str, fault: str
) -> None:
    path = institution_file(tmp_path, "bar").rename(tmp_path / file)
    assert main(["validate", str(path)]) == 1
    said = capsys.readouterr()
    assert (said.out, said.err) == ("", f"{path}: {fault}\n")


def test_validate_refuses_the_second_file_of_a_name(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    first = institution_file(tmp_path, "one")
    second = first.with_name("two.yaml")
    second.write_text(first.read_text())
    assert main(["validate", str(first), str(second)]) == 1
    assert capsys.readouterr().err == (
        f"{second}: name is 'one', which one.yaml has; write name: two\n"
    )


def test_validate_asks_no_name_of_what_is_no_file_of_a_folder(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = institution_file(tmp_path, "bar").rename(tmp_path / "63")
    assert main(["validate", str(path)]) == 0
    assert capsys.readouterr().out == f"{path}: bar is right\n"


def test_what_parallelcluster_cannot_do_is_refused_at_its_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = (INSTITUTIONS / "minimal.yaml").read_text()
    path = tmp_path / "minimal.yaml"
    path.write_text(f"{text}  monitoring: {{log_retention_days: 1096}}\n")
    assert main(["validate", str(path)]) == 1
    assert f"{path}:14: fleet.monitoring.log_retention_days: " in capsys.readouterr().err


@pytest.mark.parametrize("name", ["minimal", "kait", "full"])
def test_render_writes_the_cluster_configuration(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["render", str(INSTITUTIONS / f"{name}.yaml"), "--out", str(tmp_path)]) == 0
    written = [Path(line) for line in capsys.readouterr().out.split()]
    assert tmp_path / "cluster-config.yaml" in written
    config = yaml.safe_load((tmp_path / "cluster-config.yaml").read_text())
    assert config["Scheduling"]["Scheduler"] == "slurm"


def test_a_rendering_takes_away_what_the_last_one_wrote_and_nothing_else(tmp_path: Path) -> None:
    out = tmp_path / "rendered" / "minimal"

    def render(name: str) -> set[str]:
        assert main(["render", str(INSTITUTIONS / f"{name}.yaml"), "--out", str(out)]) == 0
        return {path.relative_to(out).as_posix() for path in out.rglob("*")}

    bare = render("bare")
    assert {"fleet.json", "slurm.conf", "expect"} < bare
    (out / "notes.md").touch()
    (out / "expect" / "mine.json").touch()
    (tmp_path / "outside").touch()
    with (out / ".rendered").open("a") as listed:
        listed.write(f"../../outside\n{tmp_path}/outside\n\nexpect/gone.json\n")
    mine = {"notes.md", "expect", "expect/mine.json", ".rendered"}
    assert render("minimal") == {"cluster-config.yaml", *mine}
    assert (tmp_path / "outside").exists()
    (out / "expect" / "mine.json").unlink()
    assert render("bare") == bare | {"notes.md"}
    assert render("minimal") == {"cluster-config.yaml", "notes.md", ".rendered"}
    shown = Assembly(tmp_path, {}).rendered("minimal")
    assert set(shown) == {"cluster-config.yaml", "notes.md"}


def test_schema_is_json(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["schema"]) == 0
    assert json.loads(capsys.readouterr().out)["title"] == "trainshed institution"


def test_its_version_is_that_of_the_project(capsys: pytest.CaptureFixture[str]) -> None:
    project = tomllib.loads((INSTITUTIONS.parent / "pyproject.toml").read_text())["project"]
    with pytest.raises(SystemExit, match=r"^0$"):
        main(["--version"])
    assert capsys.readouterr().out == f"trainshed {project['version']}\n"


@pytest.mark.parametrize("given", ["--vers", "--v"])
def test_half_an_option_is_refused(given: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match=r"^2$"):
        main([given])
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize("listed", ["a\0b", "loop/x", "folder", "file/x", "x" * 300])
def test_a_list_of_rendered_files_that_is_none_keeps_nothing_from_being_rendered(
    tmp_path: Path, listed: str
) -> None:
    (tmp_path / "loop").symlink_to("loop")
    (tmp_path / "folder").mkdir()
    (tmp_path / "file").touch()
    (tmp_path / ".rendered").write_text(f"{listed}\n")
    assert main(["render", str(INSTITUTIONS / "minimal.yaml"), "--out", str(tmp_path)]) == 0
    assert {"loop", "folder", "file"} < {path.name for path in tmp_path.iterdir()}


def test_an_institution_without_a_file_is_refused_with_the_nearest() -> None:
    with pytest.raises(
        ConfigError, match=r"institution 'kiat' has no file in .*; did you mean 'kait'"
    ):
        load_all(INSTITUTIONS, "kiat")


def test_a_file_is_named_like_its_institution(tmp_path: Path) -> None:
    (tmp_path / "other.yaml").write_text((INSTITUTIONS / "minimal.yaml").read_text())
    with pytest.raises(ConfigError, match=r"name is 'minimal'; name the file minimal\.yaml"):
        load_all(tmp_path)


def institution_file(folder: Path, name: str, *, cluster: str = "", account: str = "") -> Path:
    text = (INSTITUTIONS / "minimal.yaml").read_text().replace("name: minimal", f"name: {name}")
    if account:
        text = text.replace("111122223333", account)
    if cluster:
        text = text.replace("fleet:\n", f"fleet:\n  cluster_name: {cluster}\n")
    path = folder / f"{name}.yaml"
    path.write_text(text)
    return path


def test_two_files_of_one_name_are_refused_once(tmp_path: Path) -> None:
    first = institution_file(tmp_path, "one")
    second = first.with_name("two.yaml")
    second.write_text(first.read_text())
    with pytest.raises(ConfigError) as refusal:
        load_all(tmp_path)
    assert str(refusal.value) == f"{second}: name is 'one', which one.yaml has; write name: two"


@pytest.mark.parametrize("chosen", [None, "one"])
def test_a_folder_without_institutions_is_refused(tmp_path: Path, chosen: str | None) -> None:
    """Nothing would be written, and an earlier assembly deployed in its place."""
    for folder in (tmp_path, tmp_path / "missing"):
        with pytest.raises(ConfigError) as refusal:
            load_all(folder, chosen)
        assert str(refusal.value) == (
            f"{folder}: no file NAME.yaml of an institution; write one, or bring it here"
        )


@pytest.mark.parametrize("ending", ["yml", "YAML"])
def test_a_file_that_would_be_passed_over_is_refused(tmp_path: Path, ending: str) -> None:
    institution_file(tmp_path, "one")
    other = institution_file(tmp_path, "two").rename(tmp_path / f"two.{ending}")
    with pytest.raises(ConfigError) as refusal:
        load_all(tmp_path)
    assert str(refusal.value) == f"{other}: is not read; name it two.yaml"


def test_what_an_editor_hides_beside_a_file_is_no_institution(tmp_path: Path) -> None:
    institution_file(tmp_path, "one")
    (tmp_path / ".#one.yaml").symlink_to("someone@host.4711")
    assert [institution.name for institution in load_all(tmp_path)] == ["one"]


def test_two_clusters_of_one_name_are_refused_in_one_account(tmp_path: Path) -> None:
    first = institution_file(tmp_path, "one", cluster="llm")
    second = institution_file(tmp_path, "two", cluster="LLM")
    with pytest.raises(ConfigError) as refusal:
        load_all(tmp_path)
    assert str(refusal.value) == (
        f"{second}:12: fleet.cluster_name: its cluster 'LLM' has the name of the cluster of "
        f"{first}, in the same account and Region; take another"
    )


def test_a_cluster_named_like_the_stack_of_another_institution_is_refused(tmp_path: Path) -> None:
    other = institution_file(tmp_path, "one-cluster")
    path = institution_file(tmp_path, "one")
    with pytest.raises(ConfigError) as refusal:
        load_all(tmp_path)
    assert str(refusal.value) == (
        f"{path}:3: name: its stack 'one-cluster' has the name of the cluster of {other}, in the "
        "same account and Region; take another"
    )


def test_clusters_of_one_name_are_right_in_two_accounts(tmp_path: Path) -> None:
    institution_file(tmp_path, "one", cluster="llm")
    institution_file(tmp_path, "two", cluster="llm", account="444455556666")
    assert [institution.name for institution in load_all(tmp_path)] == ["one", "two"]


def run(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "trainshed", *arguments],
        env={**os.environ, **environment},
        capture_output=True,
        encoding="utf-8",
        check=False,
    )


@pytest.mark.parametrize(
    ("place", "reason"), [("file", "File exists"), ("file/below", "Not a directory")]
)
def test_a_place_that_cannot_be_written_is_told_in_a_line(
    place: str, reason: str, tmp_path: Path
) -> None:
    (tmp_path / "file").touch()
    out = tmp_path / place
    done = run("render", str(INSTITUTIONS / "minimal.yaml"), "--out", str(out))
    message = f"trainshed: {out} cannot be written or read: {reason}; use another\n"
    assert (done.returncode, done.stderr) == (1, message)


@pytest.mark.parametrize("verb", ["schema", "validate"])
def test_a_full_disk_is_told_in_a_line(verb: str) -> None:
    files = [str(INSTITUTIONS / "minimal.yaml")] if verb == "validate" else []
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "trainshed", verb, *files],
            stdout=full, stderr=subprocess.PIPE, text=True, check=False,
        )  # fmt: skip
    assert (done.returncode, done.stderr) == (
        1,
        "trainshed: what it prints cannot be written or read: No space left on device; "
        "use another\n",
    )


def test_a_reader_may_leave_the_pipe() -> None:
    read, write = os.pipe()
    os.close(read)
    done = subprocess.run(
        [sys.executable, "-m", "trainshed", "schema"],
        stdout=write, stderr=subprocess.PIPE, text=True, check=False,
    )  # fmt: skip
    os.close(write)
    assert (done.returncode, done.stderr) == (1, "")


def test_files_are_utf_8_whatever_the_locale(tmp_path: Path) -> None:
    text = (INSTITUTIONS / "kait.yaml").read_text(encoding="utf-8")
    path = tmp_path / "kait.yaml"
    path.write_text(text.replace('Grafana: "true"', "Team: 카이스트"), encoding="utf-8")
    plain = {"LC_ALL": "C", "PYTHONCOERCECLOCALE": "0", "PYTHONUTF8": "0"}
    done = run("render", str(path), "--out", str(tmp_path / "out"), **plain)
    assert (done.returncode, done.stderr) == (0, "")
    assert "카이스트" in (tmp_path / "out" / "cluster-config.yaml").read_text(encoding="utf-8")
