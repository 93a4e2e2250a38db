"""Queues that are refused: the edits and the message of each."""

from __future__ import annotations

import pytest

from tests.unit.config.institution_text import (
    BLOCK,
    CREATE,
    RESERVED,
    ULTRASERVER,
    capacity,
    group,
    queue,
    two_queues,
)

REFUSED = [
    pytest.param(
        [capacity("{kind: }")],
        "14: fleet.queues.train.capacity: required key 'kind' is not given; it says where the "
        "instances come from",
        id="kind of capacity left empty",
    ),
    pytest.param(
        [capacity(f"{RESERVED}, placement_group: true}}")],
        "14: fleet.queues.train.capacity.placement_group: must be text, got true; write a "
        "placement group name",
        id="true for a name",
    ),
    pytest.param(
        [("p5.48xlarge", "p5.48xlrge")],
        "12: fleet.queues.train.instance_type: 'p5.48xlrge' is not in the table of instance "
        "types; did you mean 'p5.48xlarge' or 'p5.4xlarge' or 'p5e.48xlarge'? "
        "a new type can be described under instance_types",
        id="misspelt instance type",
    ),
    pytest.param(
        [("    train:", "    default:")],
        "11: fleet.queues.default: 'default' is not a queue name: it starts with a lower-case "
        "letter, has up to 25 lower-case letters, digits and hyphens, and is not 'default'",
        id="H105 queue named default",
    ),
    pytest.param(
        [("p5.48xlarge", "g5.xlarge\n      efa: true")],
        "13: fleet.queues.train.efa: g5.xlarge has no Elastic Fabric Adapter; take "
        "g5.12xlarge or g5.16xlarge or g5.24xlarge or g5.48xlarge or g5.8xlarge, "
        "or write efa: false",
        id="A12 EFA on a type without it",
    ),
    pytest.param(
        [("p5.48xlarge", "m7i.xlarge\n      nvme_dir: /scratch")],
        "13: fleet.queues.train.nvme_dir: m7i.xlarge has no local NVMe disks, so /scratch would "
        "silently be the root disk; leave the key out",
        id="T26 scratch without NVMe",
    ),
    pytest.param(
        [("{kind: on_demand}", BLOCK + "}"), ("max_nodes: 4", "max_nodes: 4\n      min_nodes: 0")],
        "14: fleet.queues.train.min_nodes: 0 is not max_nodes, 4; a Capacity Block is paid "
        "for as a whole, so every node of it always runs: leave min_nodes out",
        id="C27 block with fewer at least than at most",
    ),
    pytest.param(
        [("{kind: on_demand}", BLOCK + ", nodes: 2}")],
        "13: fleet.queues.train.max_nodes: 4 nodes of train are above the 2 of the reservation "
        "cr-0123456789abcdef0; lower max_nodes, or reserve more",
        id="C27 more nodes than the block holds",
    ),
    pytest.param(
        [("fleet:\n", "fleet:\n  head_node: {instance_type: m7g.2xlarge}\n")],
        "13: fleet.queues.train.instance_type: p5.48xlarge is x86_64 and the head node, "
        "m7g.2xlarge, is arm64; take a head node of the same architecture",
        id="C37 two architectures",
    ),
    pytest.param(
        [("      max_nodes: 4\n", "      max_nodes: 4\n      max_nodes: 8\n")],
        "13: fleet.queues.train.max_nodes: given twice, in lines 13 and 14; keep one",
        id="key given twice",
    ),
    pytest.param(
        [("max_nodes: 4", "max_node: 4")],
        "13: fleet.queues.train.max_node: unknown key; did you mean 'max_nodes'?",
        id="misspelt key",
    ),
    pytest.param(
        [("max_nodes: 4", "max_nodes: ${INSTANCES_NUM}")],
        "13: fleet.queues.train.max_nodes: '${INSTANCES_NUM}' holds '${'; this file has no "
        "substitution: write the value itself",
        id="a shell variable",
    ),
    pytest.param(
        [("max_nodes: 4", "max_nodes: 4\n      whole_node: yes")],
        "14: fleet.queues.train.whole_node: must be true or false, got 'yes'",
        id="yes for true",
    ),
    pytest.param(
        [("max_nodes: 4", "max_nodes: 4\n      nvme_dir: /fsx/scratch")],
        "14: fleet.queues.train.nvme_dir: /fsx/scratch and storage.mount_dir, /fsx, overlap; "
        "mount them apart, such as /opt/dlami/nvme and /fsx",
        id="H115 nested mounts",
    ),
    pytest.param(
        [
            ("    train:\n", "    train: &t\n"),
            capacity("{kind: on_demand}\n    two:\n      <<: *t"),
        ],
        "16: fleet.queues.two.<<: merges are not supported; write the keys out",
        id="a merge",
    ),
    pytest.param(
        [("max_nodes: 4", "max_nodes: !!int four")],
        "13: fleet.queues.train.max_nodes: has the tag '!!int' and is 'four'; write the "
        "plain value",
        id="a tag with another value",
    ),
    pytest.param(
        [("max_nodes: 4", f"max_nodes: {'9' * 5000}")],
        "13: fleet.queues.train.max_nodes: 999999… has 5000 characters; a number here has "
        "30 at most",
        id="a number of 5,000 digits",
    ),
    pytest.param(
        [*ULTRASERVER, capacity(BLOCK + "}")],
        "14: fleet.queues.train.max_nodes: 4 nodes of cr-0123456789abcdef0, an "
        "UltraServer's Capacity Block, which has 9 or 18 of p6e-gb200 and is used as a "
        "whole; use 9 or 18",
        id="a part of an UltraServer's block",
    ),
    pytest.param(
        [two_queues(RESERVED + "}", RESERVED + "}", kind="p4d.24xlarge")],
        "16: fleet.queues.two.instance_type: p4d.24xlarge and, in queue train, "
        "p5.48xlarge are to run in cr-0123456789abcdef0; a reservation has one instance "
        "type: take another reservation",
        id="one reservation for two types",
    ),
    pytest.param(
        [two_queues(group(", nodes: 6"), group())],
        "17: fleet.queues.two.max_nodes: 8 nodes of train, two are above the 6 of the "
        "reservation arn:aws:resource-groups:us-east-1:111122223333:group/p5; lower "
        "max_nodes, or reserve more",
        id="more nodes than a resource group holds",
    ),
    pytest.param(
        [("    train:", "    a-b:"), two_queues(CREATE + "}", CREATE + "}", "a--b")],
        "15: fleet.queues.a--b: differs from queue a-b in its hyphens alone, and both "
        "have a reservation, which is named after its queue; take another name",
        id="two queues with one construct id",
    ),
    pytest.param(
        [queue("nvme_dir: /etc")],
        "14: fleet.queues.train.nvme_dir: /etc belongs to the system; use another, such "
        "as /opt/dlami/nvme",
        id="I115 scratch over the system",
    ),
    pytest.param(
        [queue("nvme_dir: /home")],
        "14: fleet.queues.train.nvme_dir: /home would hide the users' homes; use another, "
        "such as /opt/dlami/nvme",
        id="I115 scratch over the homes",
    ),
    pytest.param(
        [queue("nvme_dir: /opt/slurm")],
        "14: fleet.queues.train.nvme_dir: /opt/slurm belongs to the system; use another, "
        "such as /opt/dlami/nvme",
        id="I115 scratch over Slurm",
    ),
    pytest.param(
        [queue("nvme_dir: /opt/aws/bin")],
        "14: fleet.queues.train.nvme_dir: /opt/aws/bin belongs to the system, as all of "
        "/opt/aws does; use another, such as /opt/dlami/nvme",
        id="I115 scratch over ParallelCluster's tools",
    ),
    pytest.param(
        [queue("nvme_dir: /tmp/x")],
        "14: fleet.queues.train.nvme_dir: /tmp/x lies below /tmp, which is emptied at "
        "each boot; use another, such as /opt/dlami/nvme",
        id="I115 scratch that is emptied at boot",
    ),
    pytest.param(
        [queue("nvme_dir: /opt/../etc")],
        "14: fleet.queues.train.nvme_dir: /opt/../etc has '.' or '..' in it; write it out",
        id="I115 scratch around a reserved directory",
    ),
]
