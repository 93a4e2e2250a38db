"""The real CDK command line, against an emulator or an account."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from tests.deploy.emulator.children import run_group
from tests.deploy.emulator.process import ACCOUNT, ROOT
from tests.deploy.place import Place

COMMAND = ROOT / "node_modules" / ".bin" / "cdk"


class CdkError(Exception):
    """The command ended with a failure; its output is the message."""


@dataclass
class Cdk:
    """The command line over what one app synthesised."""

    emulator: Place
    app: Sequence[str]
    out: Path
    context: dict[str, str] = field(default_factory=dict)
    seconds: float = 540
    """The longest that a command may take."""

    def synth(self) -> None:
        """Run the app, as the README's ``CDK_OUTDIR=… python app.py`` does."""
        environment = {
            **self.emulator.environment(),
            # The CDK's library is unpacked there once.
            "HOME": str(Path.home()),
            "PYTHONPATH": str(ROOT),
            "CDK_OUTDIR": str(self.out),
            "CDK_CONTEXT_JSON": json.dumps(self.context),
        }
        command = [sys.executable, *self.app]
        done = run_group(command, folder=ROOT, environment=environment, seconds=self.seconds)
        if done.returncode:
            raise CdkError(f"{' '.join(self.app)}\n{done.stdout}")

    def deploy(self, *stacks: str, options: Sequence[str] = ()) -> str:
        """Synthesise, then deploy stacks, all of them by default; return what was printed."""
        self.synth()
        return self.deploy_again(*stacks, options=options)

    def deploy_again(self, *stacks: str, options: Sequence[str] = ()) -> str:
        """Deploy what was synthesised last."""
        return self.run("deploy", *(stacks or ("--all",)), "--require-approval", "never", *options)

    def destroy(self, *stacks: str) -> str:
        """Destroy stacks, all of them by default."""
        return self.run("destroy", *(stacks or ("--all",)), "--force")

    def run(self, *arguments: str) -> str:
        """Run a command over what was synthesised last."""
        return run(
            self.emulator,
            *(*arguments, "--app", str(self.out), "--progress", "events"),
            seconds=self.seconds,
        )

    def fail_after(self, stack: str, type: str, taken: str) -> None:
        """Let a synthesised stack fail once the resource of a type is there.

        Args:
            stack: Name of the stack.
            type: Type of the resource.
            taken: Name of a parameter that exists.
        """
        template = self.template(stack)
        resources = template["Resources"]
        properties = {"Name": taken, "Type": "String", "Value": "mine"}
        resources["Taken"] = {
            "Type": "AWS::SSM::Parameter",
            "Properties": properties,
            "DependsOn": [key for key, each in resources.items() if each["Type"] == type],
        }
        (self.out / f"{stack}.template.json").write_text(json.dumps(template))

    def template(self, stack: str) -> dict[str, Any]:
        """Return a template as it was synthesised."""
        template: dict[str, Any] = json.loads((self.out / f"{stack}.template.json").read_text())
        return template


def of(emulator: Place, work: Path, *documents: dict[str, Any]) -> Cdk:
    """Return the command line over institutions, whose files it writes."""
    folder = work / "institutions"
    folder.mkdir(parents=True, exist_ok=True)
    for document in documents:
        (folder / f"{document['name']}.yaml").write_text(yaml.safe_dump(document))
    return Cdk(emulator, ["tests/deploy/app.py", str(folder)], work / "out")


def bootstrap(emulator: Place, *regions: str) -> str:
    """Bootstrap Regions of the account."""
    places = [f"aws://{ACCOUNT}/{region}" for region in regions]
    return run(emulator, "bootstrap", *places)


def run(emulator: Place, *arguments: str, seconds: float = 540) -> str:
    """Run the command line where no cdk.json names an app, and return what it printed."""
    done = run_group(
        [str(COMMAND), *arguments],
        folder=emulator.work,
        environment=emulator.environment(),
        seconds=seconds,
    )
    if done.returncode:
        raise CdkError(f"cdk {' '.join(arguments)}\n{done.stdout}")
    return done.stdout
