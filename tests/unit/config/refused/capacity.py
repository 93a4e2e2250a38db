"""Capacity that is refused: the edits and the message of each."""

from __future__ import annotations

import pytest

from tests.unit.config.institution_text import (
    BLOCK,
    CREATE,
    GROUP,
    RESERVED,
    SECRET,
    ULTRASERVER,
    capacity,
    fleet,
    group,
    two_queues,
)

REFUSED = [
    pytest.param(
        [("{kind: on_demand}", BLOCK + ", placement_group: true}")],
        "14: fleet.queues.train.capacity.placement_group: unknown key; the keys here are end, "
        "instance_type, kind, next_queue, nodes, reservation_id, start, zone",
        id="C22 placement group with a block",
    ),
    pytest.param(
        [capacity(BLOCK + ", next_queue: train}")],
        "14: fleet.queues.train.capacity.next_queue: is 'train', and the fleet has no other queue; "
        "leave it out",
        id="jobs that go on nowhere",
    ),
    pytest.param(
        [two_queues(BLOCK + ", next_queue: tow}", "{kind: on_demand}")],
        "14: fleet.queues.train.capacity.next_queue: is 'tow'; use another queue of the fleet: two",
        id="jobs that go on in a queue that is not there",
    ),
    pytest.param(
        [
            two_queues(BLOCK + ", next_queue: two}", "{kind: on_demand}"),
            fleet(
                "accounting: {host: db.example, user: slurm, database: slurm, password_secret_arn: "
                f"'{SECRET}'}}\n  policy: {{partitions: {{long: {{queues: [train]}}}}}}"
            ),
        ],
        "16: fleet.queues.train.capacity.next_queue: is two, and partition long has train without "
        "it, so its jobs would wait; add two to the queues of the partition, or leave this out",
        id="jobs whose partition has not the next queue",
    ),
    pytest.param(
        [("{kind: on_demand}", RESERVED + ", zone: us-east-1b}")],
        "14: fleet.queues.train.capacity.zone: the reservation is in us-east-1b and the network "
        "in us-east-1a; a cluster stands in the zone of its capacity",
        id="C28 reservation in another zone",
    ),
    pytest.param(
        [("{kind: on_demand}", RESERVED + ", instance_type: p5en.48xlarge}")],
        "14: fleet.queues.train.capacity.instance_type: the reservation is for p5en.48xlarge "
        "and the queue for p5.48xlarge; they have to be the same",
        id="C28 reservation of another type",
    ),
    pytest.param(
        [("p5.48xlarge", "g6.12xlarge"), ("{kind: on_demand}", BLOCK + "}")],
        "14: fleet.queues.train.capacity.kind: g6.12xlarge is not sold as Capacity Blocks; "
        "take targeted_reservation, on_demand or spot",
        id="C23 block of a type without blocks",
    ),
    pytest.param(
        [("{kind: on_demand}", "{kind: capacity_block, reservation_id: cr-0123456789abcdef0}")],
        "14: fleet.queues.train.capacity.end: required, but not given",
        id="C25 block without an end",
    ),
    pytest.param(
        [
            (
                "{kind: on_demand}",
                BLOCK + ", start: 2027-04-01T00:00:00Z}",
            )
        ],
        "14: fleet.queues.train.capacity: end is 2027-03-01T00:00:00Z, not after start, "
        "2027-04-01T00:00:00Z; copy both from the Capacity Block's page",
        id="C26 block that ends before it starts",
    ),
    pytest.param(
        [("{kind: on_demand}", "{kind: targeted_reservation}")],
        "14: fleet.queues.train.capacity: needs exactly one of reservation_id, "
        "resource_group_arn and create, got none",
        id="C24 reservation without a target",
    ),
    pytest.param(
        [("{kind: on_demand}", RESERVED + ", create: {nodes: 4}}")],
        "14: fleet.queues.train.capacity: needs exactly one of reservation_id, "
        "resource_group_arn and create, got reservation_id and create",
        id="C24 reservation with two targets",
    ),
    pytest.param(
        [
            (
                "{kind: on_demand}",
                "{kind: targeted_reservation, reservation_id: i-0123456789abcdef0}",
            )
        ],
        "14: fleet.queues.train.capacity.reservation_id: 'i-0123456789abcdef0' is not a Capacity "
        "Reservation id, cr- and 8 or 17 hexadecimal digits",
        id="C23 an id of another kind",
    ),
    pytest.param(
        [("{kind: on_demand}", "{kind: capacity_blok}")],
        "14: fleet.queues.train.capacity: kind 'capacity_blok' is not one of capacity_block, "
        "targeted_reservation, open_reservation, on_demand, spot; did you mean 'capacity_block'?",
        id="misspelt kind of capacity",
    ),
    pytest.param(
        [
            (
                "{kind: on_demand}",
                BLOCK + "}\n    other:\n      instance_type: p5.48xlarge\n      max_nodes: 1\n"
                "      capacity: " + RESERVED + "}",
            )
        ],
        "18: fleet.queues.other.capacity.kind: cr-0123456789abcdef0 is a targeted_reservation here "
        "and a capacity_block in train; it is one of them: its page in the EC2 console says which",
        id="C23 one id as two kinds",
    ),
    pytest.param(
        [capacity("{kind: spot, max_price_usd_per_hour: !!float abc}")],
        "14: fleet.queues.train.capacity.max_price_usd_per_hour: has the tag '!!float' "
        "and is 'abc'; write the plain value",
        id="a fraction's tag with another value",
    ),
    pytest.param(
        [capacity("{kind: spot, max_price_usd_per_hour: 1e400}")],
        "14: fleet.queues.train.capacity.max_price_usd_per_hour: 1e400 is too large for a "
        "number; write a smaller one",
        id="a price without end",
    ),
    pytest.param(
        ULTRASERVER,
        "15: fleet.queues.train.capacity.kind: p6e-gb200.36xlarge is sold only as part of "
        "an UltraServer, in Capacity Blocks; take capacity_block",
        id="an UltraServer on demand",
    ),
    pytest.param(
        [*ULTRASERVER, capacity("{kind: spot}")],
        "15: fleet.queues.train.capacity.kind: p6e-gb200.36xlarge is sold only as part of "
        "an UltraServer, in Capacity Blocks; take capacity_block",
        id="an UltraServer as Spot",
    ),
    pytest.param(
        [*ULTRASERVER, capacity(CREATE + "}")],
        "15: fleet.queues.train.capacity.kind: p6e-gb200.36xlarge is sold only as part of "
        "an UltraServer, in Capacity Blocks; take capacity_block",
        id="an UltraServer reserved here",
    ),
    pytest.param(
        [*ULTRASERVER, ("max_nodes: 4", "max_nodes: 9"), capacity(BLOCK + ", nodes: 10}")],
        "15: fleet.queues.train.capacity.nodes: 10 nodes of cr-0123456789abcdef0, an "
        "UltraServer's Capacity Block, which has 9 or 18 of p6e-gb200 and is used as a "
        "whole; use 9 or 18",
        id="an UltraServer's block of 10",
    ),
    pytest.param(
        [two_queues(RESERVED + ", nodes: 8}", RESERVED + ", nodes: 9}")],
        "18: fleet.queues.two.capacity.nodes: 9 here and 8 in queue train, of one "
        "reservation, cr-0123456789abcdef0; write the same in both, or in one of them "
        "alone",
        id="one reservation of two sizes",
    ),
    pytest.param(
        [two_queues(RESERVED + ", zone: us-east-1a}", RESERVED + ", zone: use1-az2}")],
        "18: fleet.queues.two.capacity.zone: use1-az2 here and us-east-1a in queue train, "
        "of one reservation, cr-0123456789abcdef0; write the same in both, or in one of "
        "them alone",
        id="one reservation in two zones",
    ),
    pytest.param(
        [two_queues(BLOCK + "}", BLOCK.replace("2027", "2028") + "}")],
        "18: fleet.queues.two.capacity.end: 2028-03-01T00:00:00Z here and "
        "2027-03-01T00:00:00Z in queue train, of one reservation, cr-0123456789abcdef0; "
        "write the same in both, or in one of them alone",
        id="one block with two ends",
    ),
    pytest.param(
        [capacity(CREATE + ", nodes: 9}")],
        "14: fleet.queues.train.capacity.nodes: is for an existing reservation, and "
        "create makes one of the queue's type in the network's zone, with its own nodes; "
        "leave it out",
        id="size of a reservation that is still to be made",
    ),
    pytest.param(
        [capacity(RESERVED + ", zone: usw2-az1}")],
        "14: fleet.queues.train.capacity.zone: the reservation is in usw2-az1 and the "
        "network in us-east-1a; a cluster stands in the zone of its capacity",
        id="C28 zone id of a reservation in another Region",
    ),
    pytest.param(
        [capacity(RESERVED + ", zone: narnia}")],
        "14: fleet.queues.train.capacity.zone: 'narnia' is no Availability Zone; use its "
        "name, us-east-1a, or id, use1-az4",
        id="C28 a reservation in no zone",
    ),
    pytest.param(
        [capacity(BLOCK.replace("2027", "0001") + "}")],
        "14: fleet.queues.train.capacity.end: 0001-03-01T00:00:00Z is in the year 1; use "
        "one from 2018 to 2099, as in 2027-03-01T11:30:00Z",
        id="C26 a block of the year 1",
    ),
    pytest.param(
        [capacity(group(arn=GROUP.replace("111122223333", "999999999999")))],
        "14: fleet.queues.train.capacity.resource_group_arn: "
        "arn:aws:resource-groups:us-east-1:999999999999:group/p5 is of the account "
        "999999999999, and the institution is of 111122223333; use one of 111122223333",
        id="resource group of another account",
    ),
]
