"""cloudwatch_agent.sh installs the agent where an image has none, if it is AWS's own."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.slurm.lab.machines import Machine
from trainshed.alerts.agent import NodeAgent, NodeRole

from .aws import REGION
from .bench import SCRIPTS, Bench, Signer, make_package

KEYS = "amazoncloudwatch-agent.s3.amazonaws.com"
PACKAGES = f"amazoncloudwatch-agent-{REGION}.s3.{REGION}.amazonaws.com"
SCRIPT = (f"{SCRIPTS}/cloudwatch_agent.sh", "/etc/agent.json", REGION)
MISSING = (
    "cloudwatch_agent: this image has none; the node works without it, its metrics and logs are "
    "missing"
)
# Takes a configuration as the agent's own program does, and starts the unit.
_CONTROL = b"""#!/bin/bash
set -eu
[[ "$1 $2 $3 $4 $5 $6" == "-a fetch-config -m ec2 -s -c" ]]
python3 -m json.tool "${7#file:}" >/opt/aws/amazon-cloudwatch-agent/etc/taken.json
echo taken >>/var/log/agent-control
systemctl restart amazon-cloudwatch-agent.service
"""
_UNIT = b"[Service]\nExecStart=/bin/sleep infinity\n"


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Bench, Signer, Path]]:
    """The agent's buckets, with a package that is signed with a key of the lab's."""
    work = tmp_path_factory.mktemp("agent")
    with Bench(work, (KEYS, PACKAGES)) as bench:
        signer = Signer(work / "gpg")
        (bench.site / KEYS / "assets").mkdir()
        (bench.site / KEYS / "assets/amazon-cloudwatch-agent.gpg").write_bytes(signer.public)
        files = {
            "opt/aws/amazon-cloudwatch-agent/bin/amazon-cloudwatch-agent-ctl": _CONTROL,
            "opt/aws/amazon-cloudwatch-agent/etc/keep": b"",
            "usr/lib/systemd/system/amazon-cloudwatch-agent.service": _UNIT,
        }
        made = make_package(work, "amazon-cloudwatch-agent", files)
        place = bench.site / PACKAGES / "ubuntu/amd64/latest"
        place.mkdir(parents=True)
        package = made.rename(place / "amazon-cloudwatch-agent.deb")
        signer.run("--detach-sign", "--output", f"{package}.sig", str(package))
        yield bench, signer, package
        signer.close()


@pytest.fixture
def machine(bench: tuple[Bench, Signer, Path]) -> Iterator[Machine]:
    """A machine without the agent, with a head node's configuration and the lab's key as AWS's."""
    machine = bench[0].start()
    agent = NodeAgent("kait", NodeRole.HEAD, ("/", "/state"))
    (machine.files / "etc/agent.json").write_text(json.dumps(agent.configuration()))
    script = machine.files / SCRIPT[0].lstrip("/")
    text = script.read_text()
    real = next(word for word in text.split() if word.startswith("FINGERPRINT="))
    script.write_text(text.replace(real, f"FINGERPRINT={bench[1].fingerprint}"))
    yield machine
    machine.power_off()


def test_an_image_without_the_agent_gets_it_once(machine: Machine) -> None:
    assert machine.run(*SCRIPT).splitlines()[-1] == "cloudwatch_agent: configured"
    assert machine.run("systemctl", "is-active", "amazon-cloudwatch-agent") == "active"
    taken = machine.files / "opt/aws/amazon-cloudwatch-agent/etc/taken.json"
    assert (
        json.loads(taken.read_text())
        == NodeAgent("kait", NodeRole.HEAD, ("/", "/state")).configuration()
    )
    assert machine.run(*SCRIPT) == "cloudwatch_agent: configured"
    assert machine.run("cat", "/var/log/agent-control") == "taken"
    # Another configuration is taken, once.
    config = machine.files / "etc/agent.json"
    config.write_text(config.read_text().replace("60", "30"))
    machine.run(*SCRIPT)
    assert machine.run("cat", "/var/log/agent-control").split() == ["taken", "taken"]


def test_a_configuration_that_the_agent_did_not_get_is_given_by_the_next_boot(
    machine: Machine,
) -> None:
    machine.run(*SCRIPT)
    control = machine.files / "opt/aws/amazon-cloudwatch-agent/bin/amazon-cloudwatch-agent-ctl"
    takes = control.read_text()
    control.write_text("#!/bin/bash\nkill -9 $PPID\n")
    config = machine.files / "etc/agent.json"
    config.write_text(config.read_text().replace("60", "30"))
    assert machine.try_run(*SCRIPT).returncode
    control.write_text(takes)
    for _ in range(2):
        machine.run(*SCRIPT)
        assert machine.run("cat", "/var/log/agent-control").split() == ["taken", "taken"]
    assert machine.run("systemctl", "is-active", "amazon-cloudwatch-agent") == "active"


def test_a_package_that_somebody_changed_is_not_installed(
    bench: tuple[Bench, Signer, Path], machine: Machine
) -> None:
    package = bench[2]
    good = package.read_bytes()
    package.write_bytes(good + b" ")
    try:
        done = machine.try_run(*SCRIPT)
    finally:
        package.write_bytes(good)
    assert done.returncode == 0
    assert done.stderr.splitlines()[-2:] == [
        "cloudwatch_agent: the agent's package is not signed with its key",
        MISSING,
    ]
    assert machine.try_run("dpkg-query", "-W", "amazon-cloudwatch-agent").returncode


def test_another_key_is_not_taken(bench: tuple[Bench, Signer, Path], machine: Machine) -> None:
    script = machine.files / SCRIPT[0].lstrip("/")
    fingerprint = bench[1].fingerprint
    script.write_text(script.read_text().replace(fingerprint, "0" * 40))
    done = machine.try_run(*SCRIPT)
    assert (done.returncode, done.stderr.splitlines()[-2:]) == (
        0,
        [f"cloudwatch_agent: the agent's key is {fingerprint} and not {'0' * 40}", MISSING],
    )


def test_a_node_without_internet_says_what_it_goes_without(machine: Machine) -> None:
    hosts = machine.files / "etc/hosts"
    hosts.write_text(f"127.0.0.1 localhost {KEYS} {PACKAGES}\n")
    done = machine.try_run(*SCRIPT)
    assert (done.returncode, done.stderr.splitlines()[-1]) == (0, MISSING)
    assert f"cloudwatch_agent: https://{KEYS}/assets/amazon-cloudwatch-agent.gpg cannot be" in (
        done.stderr
    )
