"""What else of a fleet is refused, and instance types: the edits and the message of each."""

from __future__ import annotations

import pytest

from tests.unit.config.institution_text import (
    SECRET,
    database,
    described,
    fleet,
    pcluster,
    policies,
)

REFUSED = [
    pytest.param(
        [("fleet:\n", "fleet:\n  head_node: {ssh: {allowed_cidr: 0.0.0.0/0}}\n")],
        "10: fleet.head_node.ssh.allowed_cidr: 0.0.0.0/0 opens SSH to 4,294,967,296 addresses; a "
        "/16 at most: give your institution's own range, or leave ssh out and use Session Manager",
        id="T14 SSH open to the world",
    ),
    pytest.param(
        [
            (
                "fleet:\n",
                "fleet:\n  head_node:\n"
                "    policies: ['arn:aws:iam::aws:policy/AdministratorAccess']\n",
            )
        ],
        "11: fleet.head_node.policies[0]: 'arn:aws:iam::aws:policy/AdministratorAccess' is not "
        "the ARN of a policy that a node may have; AdministratorAccess, PowerUserAccess, "
        "IAMFullAccess and the policies of job functions are refused, since every job on a node "
        "can use the node's rights",
        id="T13 AdministratorAccess",
    ),
    pytest.param(
        [
            (
                "fleet:\n",
                "fleet:\n  head_node: {root_volume: {iops: 3000, throughput_mib_s: 1000}}\n",
            )
        ],
        "10: fleet.head_node.root_volume.throughput_mib_s: 1000 needs 4000 iops or more, got "
        "3000; use throughput_mib_s up to 750",
        id="volume throughput above its operations",
    ),
    pytest.param(
        [("fleet:\n", "fleet:\n  parallelcluster: {head_bootstrap_timeout_minutes: 60}\n")],
        "10: fleet.parallelcluster.head_bootstrap_timeout_minutes: 60 is above 50, "
        "the most allowed",
        id="E65 longer than CloudFormation waits",
    ),
    pytest.param(
        [pcluster("extra_slurm_settings: {MaxJobCount: true}")],
        "10: fleet.parallelcluster.extra_slurm_settings.MaxJobCount: must be text or a "
        "whole number, got true",
        id="a setting that is true",
    ),
    pytest.param(
        [fleet("slurm: {packages: {bucket: ours, key: c.tar, sha256: 12}}")],
        "10: fleet.slurm.packages.sha256: must be text, got 12; write a SHA-256, 64 hexadecimal "
        "digits in lower case",
        id="a number that is no SHA-256 in quotes either",
    ),
    pytest.param(
        [fleet("accounting: {create: {}, database: 2027}")],
        '10: fleet.accounting.database: must be text, got 2027; write "2027" in quotes',
        id="a number that is a name in quotes",
    ),
    pytest.param(
        [pcluster("extra_slurm_settings: {MaxJobCount: {a: 1}}")],
        "10: fleet.parallelcluster.extra_slurm_settings.MaxJobCount: must be text or a "
        "whole number, got keys",
        id="a setting with keys",
    ),
    pytest.param(
        [pcluster('layer_bucket: mirror, layer_key: "a\\nb"')],
        "10: fleet.parallelcluster.layer_key: 'a\\nb' is not a key of S3 without blanks, such as "
        "a/layer.zip",
        id="a layer's key of two lines",
    ),
    pytest.param(
        [fleet("head_node: {ssh: {allowed_cidr: pl-0123456789abcdef0}}")],
        "10: fleet.head_node.ssh.allowed_cidr: 'pl-0123456789abcdef0' is not an address "
        "range: Expected 4 octets in 'pl-0123456789abcdef0'; write 10.0.0.0/16",
        id="SSH range that is none",
    ),
    pytest.param(
        [fleet("head_node: {ssh: {allowed_cidr: 203.0.113.7}}")],
        "10: fleet.head_node.ssh.allowed_cidr: '203.0.113.7' is not an address range: it has no "
        "prefix length; write 203.0.113.7/32",
        id="SSH from one address, advised to open no more",
    ),
    pytest.param(
        [fleet("head_node: {ssh: {key_name: '', allowed_cidr: 10.0.0.0/24}}")],
        "10: fleet.head_node.ssh.key_name: '' is not the name of an EC2 key pair",
        id="key pair without a name",
    ),
    pytest.param(
        [described(vcpus=191)],
        "10: instance_types.p9.48xlarge.vcpus: 191 is no multiple of sockets (2) x "
        "threads_per_core (2); use 188 or 192",
        id="vCPUs that the sockets do not share",
    ),
    pytest.param(
        [described(vcpus=1)],
        "10: instance_types.p9.48xlarge.vcpus: 1 is no multiple of sockets (2) x "
        "threads_per_core (2); use 4",
        id="fewer vCPUs than threads",
    ),
    pytest.param(
        [described(", efa_cards: [9]")],
        "10: instance_types.p9.48xlarge.efa_cards: efa_cards names [9]; the network cards "
        "are 0 to 0",
        id="EFA on a card that is not there",
    ),
    pytest.param(
        [described(", efa_cards: [0, 0]")],
        "10: instance_types.p9.48xlarge.efa_cards: efa_cards is not in rising order, each "
        "card once",
        id="EFA twice on a card",
    ),
    pytest.param(
        [described(", efa_cards: [-1]")],
        "10: instance_types.p9.48xlarge.efa_cards: efa_cards names [-1]; the network "
        "cards are 0 to 0",
        id="EFA on a card below the first",
    ),
    pytest.param(
        [described(", gpus: 8")],
        "10: instance_types.p9.48xlarge.gpus: gpus, gpu_name and gpu_memory_mib go "
        "together: give all three or none",
        id="GPUs without a name",
    ),
    pytest.param(
        [described(", nvlink: true")],
        "10: instance_types.p9.48xlarge.nvlink: nvlink joins GPUs, and there are 0: leave it out",
        id="NVLink without GPUs",
    ),
    pytest.param(
        [described(", gpus: 8, gpu_memory_mib: 1, gpu_name: 'H200 x=1'")],
        "10: instance_types.p9.48xlarge.gpu_name: 'H200 x=1' is not a Slurm type: a "
        "lower-case letter, then up to 31 lower-case letters, digits, _ and -",
        id="a GPU name that Slurm cannot take",
    ),
    pytest.param(
        [described(", network_cards: 1000000000")],
        "10: instance_types.p9.48xlarge.network_cards: 1000000000 is above 128, the most allowed",
        id="more cards than any type has",
    ),
    pytest.param(
        [described(name="junk")],
        "10: instance_types.junk: 'junk' is not an instance type: family, dot and size in "
        "lower case, such as p5en.48xlarge",
        id="a type without a dot",
    ),
    pytest.param(
        [described(name="p5.48xlarge", vcpus=4)],
        "10: instance_types.p5.48xlarge: trainshed's own table has p5.48xlarge with vcpus "
        "192, not 4; leave the description out",
        id="a type that the table has otherwise",
    ),
    pytest.param(
        [database(secret=SECRET.replace("us-east-1", "eu-west-1"))],
        "10: fleet.accounting.password_secret_arn: "
        "arn:aws:secretsmanager:eu-west-1:111122223333:secret:x-AbCdEf is of the Region "
        "eu-west-1, and the institution is of us-east-1; use one of us-east-1",
        id="database secret of another Region",
    ),
    pytest.param(
        [database(secret=SECRET.replace("x-AbCdEf", "*"))],
        "10: fleet.accounting.password_secret_arn: "
        "'arn:aws:secretsmanager:us-east-1:111122223333:secret:*' is not the ARN of a "
        "secret, arn:aws:secretsmanager:REGION:ACCOUNT:secret:NAME",
        id="a secret that is any",
    ),
    pytest.param(
        [pcluster("permissions_boundary_arn: 'arn:aws:iam::999999999999:policy/b'")],
        "10: fleet.parallelcluster.permissions_boundary_arn: "
        "arn:aws:iam::999999999999:policy/b is of the account 999999999999, and the "
        "institution is of 111122223333; use one of 111122223333",
        id="boundary of another account",
    ),
    pytest.param(
        [policies("'arn:aws-us-gov:iam::aws:policy/AmazonS3ReadOnlyAccess'")],
        "10: fleet.head_node.policies[0]: "
        "arn:aws-us-gov:iam::aws:policy/AmazonS3ReadOnlyAccess is of the partition "
        "aws-us-gov, and the institution is of aws; use one of aws",
        id="policy of another partition",
    ),
    pytest.param(
        [policies("'arn:aws:iam::aws:policy/x/AdministratorAccess'")],
        "10: fleet.head_node.policies[0]: 'arn:aws:iam::aws:policy/x/AdministratorAccess' "
        "is not the ARN of a policy that a node may have; AdministratorAccess, "
        "PowerUserAccess, IAMFullAccess and the policies of job functions are refused, "
        "since every job on a node can use the node's rights",
        id="T13 AdministratorAccess under a path",
    ),
    pytest.param(
        [policies("'arn:aws:iam::aws:policy/job-function/SystemAdministrator'")],
        "10: fleet.head_node.policies[0]: "
        "'arn:aws:iam::aws:policy/job-function/SystemAdministrator' is not the ARN of a "
        "policy that a node may have; AdministratorAccess, PowerUserAccess, "
        "IAMFullAccess and the policies of job functions are refused, since every job on "
        "a node can use the node's rights",
        id="T13 policy of a job function",
    ),
    pytest.param(
        [policies("'arn:aws:iam::aws:policy/A'", "'arn:aws:iam::aws:policy/A'")],
        "10: fleet.head_node.policies[1]: arn:aws:iam::aws:policy/A is listed twice; leave one out",
        id="a policy listed twice",
    ),
    pytest.param(
        [fleet("login_nodes: {web: {policies: ['arn:aws:iam::999999999999:policy/A']}}")],
        "10: fleet.login_nodes.web.policies[0]: arn:aws:iam::999999999999:policy/A is of the "
        "account 999999999999, and the institution is of 111122223333; use one of 111122223333",
        id="a login pool's policy of another account",
    ),
    pytest.param(
        [policies(*(f"'arn:aws:iam::111122223333:policy/p{n}'" for n in range(30)))],
        "10: fleet.head_node.policies: 30 policies; a role takes 22 beside those that "
        "every node has: join some into one policy",
        id="more policies than a role takes",
    ),
    pytest.param(
        [fleet("cluster_name: uni-cluster")],
        "10: fleet.cluster_name: 'uni-cluster' is the name of one of the institution's "
        "own stacks, uni-foundation and uni-cluster, and ParallelCluster makes a stack "
        "of the cluster's name; take another",
        id="cluster named like a stack",
    ),
    pytest.param(
        [fleet("cluster_name: Uni-Foundation")],
        "10: fleet.cluster_name: 'Uni-Foundation' is the name of one of the institution's "
        "own stacks, uni-foundation and uni-cluster, and ParallelCluster makes a stack "
        "of the cluster's name; take another",
        id="cluster named like the foundation",
    ),
    pytest.param(
        [database(user="a b;c")],
        "10: fleet.accounting.user: 'a b;c' is not a database user: up to 32 letters, "
        "digits, _ . $ @ -",
        id="a database user with a blank",
    ),
    pytest.param(
        [database(host="h:99999")],
        "10: fleet.accounting.host: 'h:99999' is not a host, with its port (1 to 65535) "
        "where that is not 3306, without scheme: db.example.edu:3306",
        id="a port above all ports",
    ),
    pytest.param(
        [pcluster("suppress_validators: [junk]")],
        "10: fleet.parallelcluster.suppress_validators[0]: 'junk' is not ALL or a "
        "validator, such as type:AmiOsCompatibleValidator",
        id="a validator that is none",
    ),
]
