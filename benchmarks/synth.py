"""Time synthesis beside the same resources in plain aws-cdk-lib. docs/performance.md has results.

Usage: python benchmarks/synth.py [--institutions 1 10 50] [--repeat 3]

Runs of the variants take turns, so that other load hits all alike. Of each the best run counts.
"""

from __future__ import annotations

import argparse
import compileall
import json
import os
import platform
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

import yaml

# A script finds what is beside it; the apps and the tests find the package from the root.
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from benchmarks.measure import ROOT, Cost, Variant, environment, measure
from trainshed.cli.check import stack_templates

# What the plain app writes out as well.
SECTIONS = ("name", "account", "region", "tags", "network", "storage", "fleet")
LEFT_OUT_OF_FLEET = ("accounting", "policy")

# As stacks/synthesis.py has it: where each element was made, in the CDK's own JavaScript.
NO_TRACES = {"aws:cdk:disable-creation-stack-traces": True}

OURS = "trainshed"
CHECK = "trainshed check, cold"
CHECK_AGAIN = "trainshed check, warm"
PLAIN = "plain CDK, validation off"
PLAIN_DEFAULT = "plain CDK, as it comes"
PLAIN_CLI = "plain CDK, cdk synth"
OURS_NAG = "trainshed + cdk-nag"
PLAIN_NAG = "plain CDK + cdk-nag"
IMPORT = "import aws_cdk"
VALIDATE = "trainshed validate"


def write_institutions(folder: Path, count: int) -> None:
    """Write institutions that are the KAIT example, as far as the plain app has it."""
    example = yaml.safe_load((ROOT / "institutions" / "kait.yaml").read_text())
    kept = {key: value for key, value in example.items() if key in SECTIONS}
    for key in LEFT_OUT_OF_FLEET:
        kept["fleet"].pop(key, None)
    folder.mkdir(parents=True)
    for number in range(1, count + 1):
        text = yaml.safe_dump({**kept, "name": f"kait-{number}"}, sort_keys=False)
        (folder / f"kait-{number}.yaml").write_text(text)


def differences(ours: Path, plain: Path, *, bytes_apart: float = 0.15) -> list[str]:
    """Say where two assemblies differ in kinds and numbers of resources, or in size.

    Args:
        ours: The assembly that trainshed made.
        plain: The assembly of the plain app, with stacks of the same names.
        bytes_apart: How far apart the sizes of all templates may be, as a share of plain's.
    """
    found = []
    templates = [{t.name: t.path for t in stack_templates(side)} for side in (ours, plain)]
    if templates[0].keys() != templates[1].keys() or not templates[0]:
        return [f"stacks of {ours} and {plain} are not the same"]
    sizes = [0, 0]
    for name in sorted(templates[0]):
        counts = []
        for side in (0, 1):
            text = templates[side][name].read_text()
            sizes[side] += len(text)
            counts.append(Counter(r["Type"] for r in json.loads(text)["Resources"].values()))
        for kind in sorted(counts[0].keys() | counts[1].keys()):
            if counts[0][kind] != counts[1][kind]:
                found.append(f"{name}: {counts[0][kind]} of {kind}, plain has {counts[1][kind]}")
    if abs(sizes[0] / sizes[1] - 1) > bytes_apart:
        found.append(f"templates have {sizes[0]} bytes, those of plain {sizes[1]}")
    return found


def jsii_calls(module: str, argument: str, assembly: Path) -> Counter[str]:
    """Return the calls to the Node process that a synthesis makes, by kind."""
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.jsii_calls", module, argument],
        cwd=ROOT,
        env=environment(assembly=assembly),
        capture_output=True,
        text=True,
        check=True,
    )
    return Counter(json.loads(done.stdout.splitlines()[-1]))


def variants(work: Path, count: int) -> tuple[list[Variant], list[Variant]]:
    """Return what is repeated for one number of institutions, and what is run once."""
    folder, out = work / f"institutions-{count}", work / f"assemblies-{count}"
    write_institutions(folder, count)
    out.mkdir()
    ours, plain, default = out / "ours", out / "plain", out / "default"
    app = [sys.executable, "-m", "benchmarks.our_app", str(folder)]
    plain_app = [sys.executable, "-m", "benchmarks.plain_app", str(count)]
    check = [sys.executable, "-m", "trainshed", "check", str(ours)]

    def forget() -> None:
        (ours / ".validated.json").unlink(missing_ok=True)

    repeated = [
        Variant(OURS, app, assembly=ours),
        Variant(PLAIN, plain_app, assembly=plain, context=NO_TRACES),
        Variant(PLAIN_DEFAULT, plain_app, None, default),
        Variant(CHECK, check, before=forget),
        Variant(CHECK_AGAIN, check),
    ]
    once = [
        Variant(OURS_NAG, [*app, "--nag"], assembly=out / "ours-nag"),
        Variant(PLAIN_NAG, [*plain_app, "--nag"], assembly=out / "plain-nag", may_fail=True),
    ]
    cdk = shutil.which("cdk", path=environment()["PATH"])
    if cdk:
        synth = [cdk, "synth", "--quiet", "--no-notices", "--app", " ".join(plain_app)]
        once.append(Variant(PLAIN_CLI, [*synth, "--output", str(out / "cli")], None))
    return repeated, once


def best_of(repeated: Sequence[Variant], repeat: int) -> dict[str, Cost]:
    """Run variants in turns and return the best of each measure."""
    costs: dict[str, list[Cost]] = {variant.name: [] for variant in repeated}
    for _ in range(repeat):
        for variant in repeated:
            costs[variant.name].append(measure(variant))
    return {
        name: Cost(
            min(cost.wall_s for cost in runs),
            min(cost.cpu_s for cost in runs),
            min(cost.peak_mib for cost in runs),
        )
        for name, runs in costs.items()
    }


def print_table(title: str, costs: dict[str, Cost]) -> None:
    """Print what each variant took."""
    print(f"\n{title:<28}{'wall s':>9}{'CPU s':>9}{'peak MiB':>10}")
    for name, cost in costs.items():
        print(f"  {name:<26}{cost.wall_s:>9.2f}{cost.cpu_s:>9.2f}{cost.peak_mib:>10.0f}")


def print_ratio(what: str, over: Sequence[Cost], under: Cost, target: float | None = None) -> None:
    """Print a ratio of wall time and of CPU time, and whether it meets its target."""
    wall = sum(cost.wall_s for cost in over) / under.wall_s
    cpu = sum(cost.cpu_s for cost in over) / under.cpu_s
    verdict = "" if target is None else f"  (at most {target}: {_verdict(wall <= target)})"
    print(f"  {what:<52}{wall:>6.2f} wall{cpu:>6.2f} CPU{verdict}")


def _verdict(met: bool) -> str:
    return "met" if met else "MISSED"


def print_machine() -> None:
    """Print what the numbers were measured on."""
    node = subprocess.run(
        [environment()["JSII_NODE"], "--version"], capture_output=True, text=True, check=True
    ).stdout.strip()
    load = f", load {os.getloadavg()[0]:.1f}" if hasattr(os, "getloadavg") else ""
    print(
        f"{datetime.now(UTC):%Y-%m-%d}, {platform.system()} {platform.machine()}, "
        f"{os.cpu_count()} CPUs{load}, Python {platform.python_version()}, Node {node}"
    )


def compare(work: Path, count: int, repeat: int) -> None:
    """Measure one number of institutions and print table and ratios."""
    repeated, once = variants(work, count)
    for variant in repeated[:2]:
        measure(variant)
    out = work / f"assemblies-{count}"
    found = differences(out / "ours", out / "plain")
    if found:
        raise SystemExit("the two apps do not make the same:\n" + "\n".join(found))
    costs = best_of(repeated, repeat) | best_of(once, 1)
    print_table(f"{count} institution{'s' if count > 1 else ''}", costs)
    print_ratio("synthesis: trainshed / plain, same settings", [costs[OURS]], costs[PLAIN], 1.15)
    default = costs[PLAIN_DEFAULT]
    with_check = [costs[OURS], costs[CHECK]]
    at_50 = 0.4 if count == 50 else None
    print_ratio("trainshed / plain as it comes", [costs[OURS]], default, at_50)
    print_ratio("trainshed + check, cold / plain as it comes", with_check, default)
    again = [costs[OURS], costs[CHECK_AGAIN]]
    print_ratio("trainshed + check, warm / plain as it comes", again, default)
    for nag, bare in ((OURS_NAG, OURS), (PLAIN_NAG, PLAIN)):
        print_ratio(f"{nag} / without", [costs[nag]], costs[bare])


def compare_validation(repeat: int) -> None:
    """Measure ``trainshed validate`` beside the import that it does without."""
    costs = best_of(
        [
            Variant(IMPORT, [sys.executable, "-c", "import aws_cdk"]),
            Variant(
                VALIDATE,
                [sys.executable, "-m", "trainshed", "validate", "institutions/kait.yaml"],
            ),
        ],
        max(repeat, 5),
    )
    print_table("one file", costs)
    print_ratio("trainshed validate / import aws_cdk", [costs[VALIDATE]], costs[IMPORT], 0.5)


def main() -> None:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--institutions", type=int, nargs="+", default=[1, 10, 50], metavar="N")
    parser.add_argument("--repeat", type=int, default=3, metavar="N", help="default: 3")
    options = parser.parse_args()
    print_machine()
    # As pip leaves every installed package, and `make setup` the CDK for `python -O`.
    for folder in ("constructs", "stacks", "benchmarks"):
        for optimize in (0, 1):
            compileall.compile_dir(ROOT / folder, quiet=1, optimize=optimize)
    with tempfile.TemporaryDirectory(prefix="trainshed-benchmark-") as folder:
        work = Path(folder)
        compare_validation(options.repeat)
        for count in options.institutions:
            compare(work, count, options.repeat)
        print("\nCalls to the CDK's Node process, for one institution")
        write_institutions(work / "one", 1)
        for name, module, argument in (
            (OURS, "benchmarks.our_app", str(work / "one")),
            (PLAIN, "benchmarks.plain_app", "1"),
        ):
            calls = jsii_calls(module, argument, work / "calls")
            print(f"  {name:<26}{calls.total():>9}  {dict(calls.most_common(5))}")


if __name__ == "__main__":
    main()
