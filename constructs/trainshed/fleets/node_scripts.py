"""The scripts of nodes, as objects in S3 whose keys change with their content."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from aws_cdk import RemovalPolicy
from aws_cdk import aws_s3_assets as s3_assets
from aws_cdk import aws_ssm as ssm
from constructs import Construct

from .._assets import asset
from .._stacks import stack_facts
from ..pcluster import NodeActions, Script
from ..pcluster.boot import LIST_RUNNER, OPTIONAL_RUNNER
from ..records import is_token

# Systems Manager user guide "Parameter tiers", read 2026-11-29: a standard parameter holds 4 KB.
MOST_PARAMETER_BYTES = 4096


@dataclass(frozen=True, slots=True)
class NodeScript:
    """A script file of this machine that nodes run as root.

    Args:
        path: The file. It has to be idempotent: nodes run it again after a change of any script.
        args: Arguments, in order; each without blanks.

    Raises:
        ValueError: An argument is empty or has blanks.
    """

    path: str
    args: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        for argument in self.args:
            if not argument or re.search(r"\s", argument):
                raise ValueError(
                    f"args of {Path(self.path).name} has {argument!r}; "
                    "an argument is not empty and has no blanks"
                )

    @property
    def sha256(self) -> str:
        """SHA-256 of the content."""
        return hashlib.sha256(Path(self.path).read_bytes()).hexdigest()


def node_script(name: str, *args: str) -> NodeScript:
    """Return one of trainshed's own node scripts by file name."""
    return NodeScript(asset("node", name), args)


class ScriptObjects(Construct):
    """Uploads node scripts, each file once, and says where each of them is."""

    def __init__(self, scope: Construct, id: str) -> None:
        super().__init__(scope, id)
        self._uploads: dict[str, tuple[str, str, str]] = {}

    def place(self, script: NodeScript) -> Script:
        """Return the script as ParallelCluster names it."""
        _, bucket, key = self._upload(script)
        return Script(bucket, key, script.args)

    def optional(self, script: NodeScript, region: str) -> tuple[Script, Script]:
        """Return a script that may fail without failing its node, and the object it fetches."""
        fetched = self.place(NodeScript(script.path))
        args = (region, script.sha256, fetched.url, *script.args)
        return self.place(node_script(OPTIONAL_RUNNER, *args)), fetched

    def _upload(self, script: NodeScript) -> tuple[str, str, str]:
        """Return the path of the file, and bucket and key of its object."""
        id = "".join(word.capitalize() for word in re.split(r"\W|_", Path(script.path).stem))
        if id not in self._uploads:
            # The hash is that of the content alone, so that the key does not depend on the machine
            # or on CDK's version: a head node's script can never get another key.
            made = s3_assets.Asset(self, id, path=script.path, asset_hash=script.sha256)
            self._uploads[id] = (script.path, *_place_of(made))
        path = self._uploads[id][0]
        if path != script.path:
            raise ValueError(
                f"{script.path} and {path} have the same file name; rename one of them"
            )
        return self._uploads[id]


def _place_of(made: s3_assets.Asset) -> tuple[str, str]:
    """Return bucket and key of an asset."""
    url = made.s3_object_url
    if is_token(url):
        return made.s3_bucket_name, made.s3_object_key
    # One reading instead of two, each a call to the CDK's Node process.
    bucket, _, key = url.removeprefix("s3://").partition("/")
    return bucket, key


class ScriptList(Construct):
    """Scripts of head or login nodes, listed in an SSM parameter.

    ParallelCluster never changes the ``OnNodeConfigured`` script of these nodes, so theirs is
    ``pc_actions.sh``, which runs what the parameter lists, with the SHA-256 of each.

    Args:
        parameter_name: Name of the parameter; it never changes either.
        scripts: The scripts, in the order in which they run.
        objects: Where scripts are uploaded.
        removal_policy: What becomes of the parameter when its construct goes.
        at_start: The scripts run once, before ParallelCluster sets the node up.

    Raises:
        ValueError: The list is too long for a parameter.
    """

    parameter: ssm.IStringParameter
    """The list: a line each, SHA-256, S3 URL and arguments."""
    actions: NodeActions
    """The nodes' actions."""

    def __init__(
        self,
        scope: Construct,
        id: str,
        *,
        parameter_name: str,
        scripts: Sequence[NodeScript],
        objects: ScriptObjects,
        removal_policy: RemovalPolicy,
        at_start: bool = False,
    ) -> None:
        super().__init__(scope, id)
        placed = [(script, objects.place(script)) for script in scripts]
        lines = [" ".join((given.sha256, at.url, *at.args)) for given, at in placed]
        text = "\n".join(lines)
        if len(text.encode()) > MOST_PARAMETER_BYTES:
            raise ValueError(
                f"{len(scripts)} scripts with their arguments take {len(text.encode())} bytes, "
                f"above {MOST_PARAMETER_BYTES}; join some into one script"
            )
        self.parameter = ssm.StringParameter(
            self,
            "Parameter",
            parameter_name=parameter_name,
            description="Scripts that pc_actions.sh runs: SHA-256, S3 URL, arguments",
            string_value=text,
        )
        self.parameter.apply_removal_policy(removal_policy)
        region = stack_facts(self, scope).region
        said = "\n".join(" ".join((given.sha256, *given.args)) for given in scripts)
        # Of a stack for any Region it is a token, whose text changes from run to run.
        said = re.sub(r"\$\{Token\[[^\]]*\]\}", "TOKEN", said.replace(region, "REGION"))
        content = hashlib.sha256(said.encode()).hexdigest()
        fixed = objects.place(node_script(LIST_RUNNER, parameter_name, region))
        changing = objects.place(node_script(LIST_RUNNER, parameter_name, region, content))
        self.actions = NodeActions(
            on_start=(fixed,) if at_start else (),
            on_configured=() if at_start else (fixed,),
            on_updated=() if at_start else (changing,),
            fetched=tuple(at for _, at in placed),
        )
