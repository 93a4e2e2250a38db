"""A bare Slurm fleet from the template to a job: the emulator's groups start the lab's machines.

IAM decides on each request of its functions and of its nodes, which have the sessions of their own
roles.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.deploy import account
from tests.deploy.cdk import Cdk, CdkError, bootstrap, of
from tests.deploy.emulator.process import Emulator
from tests.deploy.institutions import LAB_REGION, bare, changed
from tests.deploy.machines import EmulatedFleet
from tests.deploy.place import Place
from tests.deploy.privileges import Statement, demands, needed, roles_of, statements
from tests.deploy.remains import Remains, documented
from tests.deploy.statement_rows import is_elsewhere, label_of, labels
from tests.sweep import SWEEP
from tests.waiting import wait_until
from trainshed.slurm_fleet import names

pytestmark = pytest.mark.slurm
NAME = "iron"
STACKS = (f"{NAME}-foundation", f"{NAME}-cluster")
# A node of the lab has no NVMe disks, and one that is promised some does not join.
PROMISED = changed(bare(NAME), "fleet.queues.train.nvme_dir", "/opt/dlami/nvme")


@dataclass
class Deployed:
    """A fleet that runs, and why its first deployment did not."""

    cdk: Cdk
    lab: EmulatedFleet
    refusal: str
    left: list[str]
    """Volumes that the failed deployment left."""
    remains: Remains
    labels: dict[Statement, str]
    """Statements of its roles, those of its nodes too."""

    def record(self, instance_id: str) -> str:
        """Write what a node writes that gives up its boot, and return the parameter's name."""
        name = f"{names.nodes_path(NAME)}/{instance_id}"
        parameters = self.cdk.emulator.client("ssm", LAB_REGION)
        parameters.put_parameter(Name=name, Type="String", Value="{}")
        return name

    def has(self, parameter: str) -> bool:
        """Tell whether there is a parameter."""
        parameters = self.cdk.emulator.client("ssm", LAB_REGION)
        return bool(parameters.get_parameters(Names=[parameter])["Parameters"])

    def head(self, *command: str, user: str | None = None) -> str:
        """Run a command on the head node."""
        return self.lab.head.machine.run(*command, user=user)


@pytest.fixture(scope="module")
def fleet(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Deployed]:
    """A fleet that failed to boot, was mended and deployed again."""
    work = tmp_path_factory.mktemp(NAME)
    running = Emulator(work, enforce=True, wait_scale=0.2)
    with running as emulator, EmulatedFleet(work / "machines", emulator, NAME) as lab:
        bootstrap(emulator, LAB_REGION)
        remains = Remains(emulator, LAB_REGION)
        cdk = of(emulator, work, PROMISED)
        cdk.app = ["tests/deploy/lab_app.py", str(work / "institutions")]
        with pytest.raises(CdkError) as refused:
            cdk.deploy()
        left = volumes(emulator)
        of(emulator, work, bare(NAME))
        cdk.deploy()
        ids = [i for s in STACKS for i in account.physical_ids(emulator, s, region=LAB_REGION)]
        held = statements(emulator, roles_of(emulator, NAME))
        told = {each: label_of(each, ids, is_bare=True) for each in held}
        yield Deployed(cdk, lab, str(refused.value), left, remains, told)


def volumes(emulator: Place) -> list[str]:
    wanted = [{"Name": "tag:trainshed:cluster", "Values": [NAME]}]
    found = emulator.client("ec2", LAB_REGION).describe_volumes(Filters=wanted)["Volumes"]
    return [each["VolumeId"] for each in found]


def test_a_node_that_does_not_boot_fails_the_deployment_and_is_named(fleet: Deployed) -> None:
    assert "failed at step nvme: nvme_scratch: this instance has no NVMe disk" in fleet.refusal
    assert fleet.left == []
    # What stood for the volume is gone from memory as well.
    (path,) = Path("/dev/shm").glob(f"trainshed-volume-{os.getpid()}-*")
    assert path.name.endswith(volumes(fleet.cdk.emulator)[0])


def test_the_fleet_is_complete_once_its_nodes_are(fleet: Deployed) -> None:
    emulator = fleet.cdk.emulator
    created = account.statuses(emulator, *STACKS, region=LAB_REGION)
    assert created == ["CREATE_COMPLETE"] * 2
    assert sorted(fleet.lab.states().values()) == ["idle", "idle"]


def test_users_got_in_after_real_checks_and_an_all_reduce(fleet: Deployed) -> None:
    shown = fleet.head("scontrol", "--oneliner", "show", "nodes").splitlines()
    for line in shown:
        assert "ActiveFeatures=train,gate_passed" in line
        assert "Comment=trainshed: passed; gate passed 20" in line
    said = json.loads(fleet.head("bash", "-c", "cat /fsx/trainshed/gate/*-train.json"))
    assert (said["verdict"], len(said["nodes"])) == ("passed", len(shown))
    assert said["text"].startswith("369.86 GB/s at 16 GiB, least 258.9")


def test_a_user_of_the_policy_runs_a_job(fleet: Deployed) -> None:
    id = fleet.head(
        *("sbatch", "--parsable", "--gres=gpu:8", "--mem=100", "-D", "/tmp", "-o", "/tmp/job.out"),
        *("--wrap", "hostname"),
        user="kim",
    )
    show = ("sacct", "-nXP", "-j", id, "-o", "User,Account,State")
    wait_until(lambda: "COMPLETED" in fleet.head(*show), f"end of job {id}", 120)
    assert fleet.head(*show) == "kim|lab|COMPLETED"


def test_a_node_that_is_lost_is_replaced(fleet: Deployed) -> None:
    on = [node for node in fleet.lab.nodes.values() if node.machine.alive]
    lost = next(node for node in on if node.role == "compute")
    record = fleet.record(lost.instance_id)
    fleet.lab.ec2.terminate_instances(InstanceIds=[lost.instance_id])

    def healed() -> bool:
        states = fleet.lab.states()
        return lost.name not in states and sorted(states.values()) == ["idle", "idle"]

    def there_is() -> str:
        parameters = fleet.cdk.emulator.client("ssm", LAB_REGION)
        status = parameters.get_parameter(Name=names.status_parameter(NAME))["Parameter"]["Value"]
        said = fleet.head("journalctl", "-u", "trainshed-keeper", "-n", "20", "-o", "cat")
        return f"{lost.name} replaced in {fleet.lab.states()}: {status}; {said}"

    wait_until(healed, there_is, 600)
    wait_until(lambda: not fleet.has(record), f"the keeper to delete {record}", 300)


if SWEEP:

    def test_an_update_that_fails_after_the_fleet_has_grown_is_taken_back(fleet: Deployed) -> None:
        """Its third node boots, and the keeper takes it away after the rollback."""
        cdk, emulator, train = fleet.cdk, fleet.cdk.emulator, "fleet.queues.train"
        name = names.fleet_parameter(NAME)
        parameters = emulator.client("ssm", LAB_REGION)
        before = parameters.get_parameter(Name=name)["Parameter"]["Value"]
        more = changed(changed(bare(NAME), f"{train}.max_nodes", 3), f"{train}.min_nodes", 3)
        of(emulator, emulator.work, more)
        cdk.synth()
        cdk.fail_after(STACKS[1], "Custom::TrainshedSlurmFleet", f"/trainshed/{NAME}/VpcId")
        with pytest.raises(CdkError, match="ParameterAlreadyExists"):
            cdk.deploy_again(STACKS[1], options=["--exclusively"])
        assert account.statuses(emulator, STACKS[1], region=LAB_REGION) == [
            "UPDATE_ROLLBACK_COMPLETE"
        ]
        assert parameters.get_parameter(Name=name)["Parameter"]["Value"] == before
        wait_until(
            lambda: sorted(fleet.lab.states().values()) == ["idle", "idle"],
            lambda: f"two nodes of {fleet.lab.states()}",
            600,
        )
        of(emulator, emulator.work, bare(NAME))
        cdk.synth()


def test_a_destroy_stops_every_machine_and_leaves_exactly_what_is_retained(fleet: Deployed) -> None:
    state = volumes(fleet.cdk.emulator)
    # The keeper leaves the record of a node that runs.
    record = fleet.record(fleet.lab.head.instance_id)
    fleet.remains.note(fleet.cdk, *STACKS)
    fleet.cdk.destroy()
    assert not fleet.has(record)
    wait_until(
        lambda: not [each for each in fleet.lab.nodes.values() if each.machine.alive],
        "end of every machine",
    )
    assert volumes(fleet.cdk.emulator) == state
    assert fleet.remains.left == fleet.remains.expected
    assert fleet.remains.types <= documented()
    assert not account.exists(fleet.cdk.emulator, STACKS[1], region=LAB_REGION)


def test_each_statement_is_needed_by_something_that_was_asked(fleet: Deployed) -> None:
    """The last of this life."""
    emulator = fleet.lab.emulator
    asked = demands(emulator.demands, {each.role for each in fleet.labels})
    found = {fleet.labels[each] for each in needed(fleet.labels, asked)}
    # What both backends have, test_least_privilege.py asks for.
    others = labels("full")
    wanted = {label for label in labels("bare") if label not in others and not is_elsewhere(label)}
    # The longer life has a node too many, which its row says that nothing here has.
    wanted |= {"bare ClusterFleetRolesHeadPolicy FillGroups"} if SWEEP else set()
    assert sorted(wanted - found) == []
    assert sorted(found - wanted - {*others}) == []
