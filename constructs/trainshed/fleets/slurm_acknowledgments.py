"""Why a bare Slurm fleet is as it is where cdk-nag would have it otherwise."""

from __future__ import annotations

_IN_TEMPLATE = "The launch template says so, where cdk-nag does not look."

OF_GROUP = {
    "AwsSolutions-AS3": (
        "The head node watches the group and tells of nodes that fail; EventBridge has every event."
    ),
    "AwsSolutions-EC26": f"Every disk is encrypted. {_IN_TEMPLATE}",
    "NIST.800.53.R5-EC2IMDSv2Enabled": f"IMDSv2 is required. {_IN_TEMPLATE}",
}
OF_HEAD = {
    "CloudFormation-Validate::W9010": (
        "One image, pinned, is what every node boots; image.latest takes AWS's parameter instead."
    ),
    "AwsSolutions-EC26": f"Every disk is encrypted. {_IN_TEMPLATE}",
    "AwsSolutions-EC28": "monitoring.detailed turns it on, for every node; it costs extra.",
    "AwsSolutions-EC29": (
        "CloudFormation could not replace it. What is worth keeping is on the state volume, which "
        "outlives it; the stack has termination protection."
    ),
}
OF_SCHEDULE_ROLE = {
    "NIST.800.53.R5-IAMNoInlinePolicy": "Its rights are of this schedule alone.",
}
OF_LOG = {
    "NIST.800.53.R5-CloudWatchLogGroupEncrypted": (
        "CloudWatch Logs encrypts every log group with a key of its own. No step logs a secret."
    ),
}
_ROTATION = (
    "A new munge key has to reach every daemon of the cluster at the same moment, which stops it; "
    "docs/bare-slurm.md says how to change it by hand."
)
OF_MUNGE_KEY = {
    "AwsSolutions-SMG4": _ROTATION,
    "NIST.800.53.R5-SecretsManagerRotationEnabled": _ROTATION,
    "NIST.800.53.R5-SecretsManagerUsingKMSKey": (
        "Secrets Manager's own key of the account encrypts it; nodes need no right over a key."
    ),
}
OF_STATE_VOLUME = {
    "CloudFormation-Validate::W3010": (
        "A cluster stands in the zone of its capacity, which the institution names."
    ),
    "NIST.800.53.R5-EC2EBSInBackupPlan": (
        "It holds the queue and the accounting of one cluster, and outlives head node and stack; "
        "its tag trainshed:cluster is what a backup plan of the account selects by."
    ),
}
