"""The README's examples work as they stand there."""

from __future__ import annotations

import re
from pathlib import Path

import aws_cdk as cdk
from aws_cdk import assertions

from stacks.synthesis import make_app
from tests import examples
from trainshed.cli.checked import load_checked
from trainshed.config.account_rules import stack_names

README = (Path(__file__).parents[2] / "README.md").read_text()


def block(language: str) -> str:
    found = re.search(rf"```{language}\n(.*?)```", README, re.DOTALL)
    assert found
    return found[1]


def test_the_readme_file_and_any_other_that_is_no_example_is_synthesised(tmp_path: Path) -> None:
    """With both security packs. A file of your own needs nothing else: no golden file, no row."""
    readme = tmp_path / "uni.yaml"
    readme.write_text(block("yaml"))
    for path in (readme, *examples.own()):
        stacks = make_app([load_checked(path)]).synth().stacks
        assert [stack.stack_name for stack in stacks] == [*stack_names(path.stem)], path


def test_the_readme_stack_synthesises() -> None:
    stack = cdk.Stack(cdk.App(), "Readme")
    exec(block("python"), {"stack": stack})
    template = assertions.Template.from_stack(stack)
    template.resource_count_is("AWS::FSx::FileSystem", 1)
    template.resource_count_is("Custom::TrainshedParallelCluster", 1)


def test_the_readme_deletes_every_parameter_that_a_cluster_leaves_behind() -> None:
    command = re.search(r"aws ssm delete-parameters --names (.*?)```", README, re.DOTALL)
    assert command
    stack = cdk.Stack(cdk.App(), "Readme")
    exec(block("python").replace('"llm"', '"uni"'), {"stack": stack})
    parameters = assertions.Template.from_stack(stack).find_resources("AWS::SSM::Parameter")
    left = {
        parameter["Properties"]["Name"]
        for parameter in parameters.values()
        if parameter.get("DeletionPolicy", "Delete") != "Delete"
    }
    assert left
    assert set(command[1].replace("\\", "").split()) == left
