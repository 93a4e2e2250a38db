"""Texts that would be read as something else in slurm.conf are refused."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError

from trainshed.slurm import SlurmPolicy, accounting_document


def accepts(**values: Any) -> bool:
    """Tell whether the model takes a policy."""
    try:
        SlurmPolicy.model_validate(values)
    except ValidationError:
        return False
    return True


@pytest.mark.parametrize(
    "names", ["a-st-gpu-1", "a-st-gpu-[1-4]", "a-[1,3-4],b-[001-010],c", "a[2]-x"]
)
def test_a_node_expression_is_taken(names: str) -> None:
    assert accepts(partitions={"p": {"node_names": names}})


@pytest.mark.parametrize(
    "names", ["a[1-", "a]1", "a[4-1]", "a,,b", "a,", "a[]", "a[x]", "1a", "a b"]
)
def test_a_node_expression_that_scontrol_does_not_read_is_refused(names: str) -> None:
    assert not accepts(partitions={"p": {"node_names": names}})


@pytest.mark.parametrize("option", ["bf_continue", "bf_window=1440", "sched_interval=60"])
def test_a_scheduler_parameter_is_taken(option: str) -> None:
    assert accepts(scheduler={"parameters": [option]})


@pytest.mark.parametrize(
    "option", ["", "a b", "a,b", "bf_window#1", 'a="1"', "bf_window=", "a=ü", "a\n"]
)
def test_a_scheduler_parameter_that_ends_its_line_or_option_is_refused(option: str) -> None:
    assert not accepts(scheduler={"parameters": [option]})


@pytest.mark.parametrize(
    "resource", ["gres/gpu", "gres/gpu:h200", "license/matlab", "fs/lustre", "cpu"]
)
def test_a_resource_of_accounting_is_taken(resource: str) -> None:
    assert accepts(scheduler={"tracked_resources": [resource]})


@pytest.mark.parametrize(
    "resource", ["", "gpu", "gres/", "gres", "gres/g,cpu", "fs/x", "gres/gpu#"]
)
def test_what_is_no_resource_of_accounting_is_refused(resource: str) -> None:
    assert not accepts(scheduler={"tracked_resources": [resource]})


@pytest.mark.parametrize("key", ["mail_program", "job_completion_file"])
@pytest.mark.parametrize("path", ["relative", "/a b", "/a#b", '/a"', "/ü", "/a\n"])
def test_a_path_that_slurm_conf_cuts_is_refused(key: str, path: str) -> None:
    assert accepts(scheduler={key: "/var/log/slurm/jobs-1.txt"})
    assert not accepts(scheduler={key: path})


def test_a_half_life_of_nothing_is_refused_and_unlimited_taken() -> None:
    assert accepts(scheduler={"weights": {"decay_half_life": "UNLIMITED"}})
    assert accepts(scheduler={"weights": {"decay_half_life": "00:00:01"}})
    with pytest.raises(ValidationError, match="stops slurmctld; write UNLIMITED"):
        SlurmPolicy.model_validate({"scheduler": {"weights": {"decay_half_life": "00:00:00"}}})


@pytest.mark.parametrize("where", ["scheduler", "qos"])
def test_a_time_without_end_before_preemption_is_refused(where: str) -> None:
    def policy(time: str) -> dict[str, Any]:
        values = {"preempt_exempt_time": time}
        return {where: values if where == "scheduler" else {"q": values}}

    assert accepts(**policy("01:00:00"))
    with pytest.raises(ValidationError, match="jobs are preempted at once; write a time"):
        SlurmPolicy.model_validate(policy("UNLIMITED"))


def test_weights_that_do_not_fit_into_a_priority_are_refused() -> None:
    names = ("partition", "qos", "fairshare", "age", "job_size")
    assert accepts(scheduler={"weights": dict.fromkeys(names, 2**32 // 5)})
    with pytest.raises(ValidationError, match="are 5000000000 together, and a job's priority ends"):
        SlurmPolicy.model_validate({"scheduler": {"weights": dict.fromkeys(names, 10**9)}})


@pytest.mark.parametrize("text", ["Physics (B. 2)", "서울대학교", "École d été", "🦀"])
def test_a_description_in_any_script_is_taken(text: str) -> None:
    assert accepts(accounts={"a": {"description": text, "organization": text}})


@pytest.mark.parametrize(
    "text", [" x", "x ", "a|b", "a\x85b", "a\u2028b", "a\tb", "a\x00", "", "x" * 201]
)
def test_a_description_that_comes_back_otherwise_is_refused(text: str) -> None:
    assert not accepts(accounts={"a": {"description": text}})


def test_only_letters_of_ascii_are_lowered_as_slurmdbd_does() -> None:
    values = {"accounts": {"a": {"description": "ÉCOLE İ", "organization": "MIT Ö"}}}
    document = accounting_document(SlurmPolicy.model_validate(values), [], cluster="c")
    entry = document["accounts"]["a"]
    assert (entry["description"], entry["organization"]) == ("École İ", "mit Ö")


def test_an_account_whose_inherited_default_its_users_may_not_have_is_refused() -> None:
    accounts = {
        "top": {"description": "t", "qos": ["a", "b"], "default_qos": "a"},
        "lab": {"description": "l", "parent": "top", "qos": ["b"]},
    }
    with pytest.raises(ValidationError) as refused:
        SlurmPolicy.model_validate({"qos": {"a": {}, "b": {}}, "accounts": accounts})
    assert (
        "accounts.lab.default_qos: is a from the account above, which its users may not have; use "
        "one of b" in str(refused.value)
    )
    accounts["lab"]["default_qos"] = "b"
    assert accepts(qos={"a": {}, "b": {}}, accounts=accounts)
