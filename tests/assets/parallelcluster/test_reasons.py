from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assets.functions.parallelcluster import handler
from tests.assets.parallelcluster.conftest import CONTEXT, Account, request
from tests.assets.parallelcluster.fake_pcluster import ApiError, FakePcluster, change, finding

POINTER = f"\n[cut; the whole text is in log stream {CONTEXT.log_stream_name}]"


def size(text: str) -> int:
    return len(json.dumps(text, ensure_ascii=False).encode()) - 2


@given(st.text())
def test_a_short_reason_is_left_alone(text: str) -> None:
    assert handler.fit(text, "stream") == text


@given(st.lists(st.sampled_from(['"', "\\", "\n", "\x00", "a", "é", "검", "🚂"]), min_size=1))
def test_a_long_reason_is_cut_between_characters_to_what_fits(parts: list[str]) -> None:
    text = "".join(parts) * 2401
    cut = handler.fit(text, CONTEXT.log_stream_name)
    kept = cut.removesuffix(POINTER)
    assert cut.endswith(POINTER)
    assert text.startswith(kept)
    assert size(cut) <= handler.REASON_BYTES
    assert size(cut) + size(text[len(kept)]) > handler.REASON_BYTES


def test_half_a_character_does_not_break_the_response() -> None:
    assert handler.fit("a\ud83db", "stream") == "a?b"


@pytest.mark.parametrize("filler", ['"' * 200, "검" * 200, "\n\t\\" * 70, "🚂" * 100])
def test_huge_findings_still_fit(
    pcluster: FakePcluster, filler: str, capsys: pytest.CaptureFixture[str]
) -> None:
    pcluster.refusal = ApiError(
        "Invalid cluster configuration.",
        configuration_validation_errors=[
            finding("ERROR", f"V{number}", filler) for number in range(500)
        ],
    )
    with pytest.raises(handler.ClusterError) as refusal:
        request("Create").start()
    assert size(str(refusal.value)) <= handler.REASON_BYTES
    assert str(refusal.value).endswith(POINTER)
    whole = json.loads(capsys.readouterr().out)["reason"]
    assert whole.count("- ERROR V") == 500


def test_an_unexpected_error_is_bounded_too(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(_name: str) -> None:
        raise LookupError("x" * 9000)

    monkeypatch.setattr(handler, "_stack", broken)
    with pytest.raises(handler.ClusterError, match=r"^LookupError: xxx") as failure:
        request("Create").start()
    assert size(str(failure.value)) <= handler.REASON_BYTES


def test_one_line_is_logged_a_decision(
    account: Account, arn: str, capsys: pytest.CaptureFixture[str]
) -> None:
    capsys.readouterr()
    update = request("Update", arn, configuration={"Image": {}})
    update.start()
    update.poll()
    account.set(arn, "UPDATE_COMPLETE")
    update.poll()
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert lines == [
        {"request": "Update", "cluster": "llm", "decision": "updated", "stack": arn},
        {
            "request": "Update",
            "cluster": "llm",
            "decision": "waiting",
            "status": "UPDATE_IN_PROGRESS",
        },
        {
            "request": "Update",
            "cluster": "llm",
            "decision": "complete",
            "status": "UPDATE_COMPLETE",
        },
    ]


def test_the_configuration_is_never_logged_nor_told(
    account: Account, pcluster: FakePcluster, capsys: pytest.CaptureFixture[str]
) -> None:
    secret = "hunter2-in-a-script-argument"
    configuration = {"HeadNode": {"CustomActions": {"Args": [secret]}}}
    create = request("Create", configuration=configuration)
    arn = create.start()["PhysicalResourceId"]
    account.set(arn, "CREATE_COMPLETE")
    create.poll()
    key, old = "HeadNode.CustomActions.Args", f"['{secret}']"
    pcluster.refusal = ApiError(
        "Update failure",
        update_validation_errors=[change(key, f"Restore 'Args' value to '{old}'.", old)],
        change_set=[change(key, old=old)],
    )
    changed = {"HeadNode": {"CustomActions": {"Args": [secret, "more"]}}}
    with pytest.raises(handler.ClusterError) as refusal:
        request("Update", arn, configuration=changed).start()
    with pytest.raises(handler.ClusterError) as malformed:
        request("Update", arn, ClusterConfiguration=f'{{"a": "{secret}"').start()
    assert str(refusal.value).endswith(f"- {key}: Restore 'Args' value to (value left out).")
    request("Delete", arn, RemovalPolicy="destroy").start()
    output = capsys.readouterr()
    for text in (output.out, output.err, str(refusal.value), str(malformed.value)):
        assert secret not in text


def test_pclusters_own_log_is_kept_from_printing_requests() -> None:
    import logging

    logging.getLogger("pcluster").setLevel(logging.NOTSET)
    request("Create").start()
    assert not logging.getLogger("pcluster").isEnabledFor(logging.INFO)
