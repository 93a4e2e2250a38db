"""What :class:`SlackAlerts` takes: a section of a file was checked before, code is here."""

from __future__ import annotations

from collections.abc import Sequence

from aws_cdk import aws_secretsmanager as secretsmanager
from constructs import Construct, IConstruct

from .._given import check_all_present
from .._stacks import stack_facts
from ..config.alerts import EMAIL, PAGE, address_faults
from ..config.texts import Form
from ..records import is_token

_LONGEST_INSTITUTION = 60
_INSTITUTION = Form(
    rf"[^\n\r]{{0,{_LONGEST_INSTITUTION}}}",
    f"the name of an institution, one line of at most {_LONGEST_INSTITUTION} characters",
)


def check_secret(secret: object) -> None:
    """Refuse a secret whose text would be in the template.

    Raises:
        ValueError: It is a text, is made with its text, or is no secret.
    """
    # Not quoted: it would be in the log of the synth.
    if isinstance(secret, str):
        raise ValueError(
            "secret is a text, which everybody who reads the template would see; put it into "
            "Secrets Manager and pass secretsmanager.Secret.from_secret_name_v2(...)"
        )
    if secret is None:
        raise ValueError("secret is None; pass secretsmanager.Secret.from_secret_name_v2(...)")
    made = secret.node.default_child if isinstance(secret, Construct) else None
    if isinstance(made, secretsmanager.CfnSecret) and _holds_text(made):
        raise ValueError(
            "secret is made with its text in the template, where everybody who reads it sees it; "
            "make the secret without a text, and put it in with aws secretsmanager put-secret-value"
        )


def _holds_text(made: secretsmanager.CfnSecret) -> bool:
    text, generated = made.secret_string, made.generate_secret_string
    # What is resolved at the deployment is a token or {{resolve:...}}.
    if text and not is_token(text) and not text.startswith("{{resolve:"):
        return True
    template = getattr(generated, "secret_string_template", None)
    return bool(template and not is_token(template))


def check_operators(operators: Sequence[str]) -> None:
    """Refuse addresses that no mail reaches.

    Raises:
        ValueError: One is no address, or is listed twice.
    """
    check_all_present(operators=operators)
    if isinstance(operators, str):
        raise ValueError("operators is a text; use a list of addresses, even of one")
    for index, address in enumerate(operators):
        check_email(f"operators[{index}]", address)
    for index, fault in address_faults(operators):
        raise ValueError(f"operators[{index}]: {fault}")


def check_email(name: str, address: str) -> None:
    """Refuse what is no e-mail address.

    Raises:
        ValueError: It is none.
    """
    _check(name, address, EMAIL)


def check_texts(*, institution: str, runbook_url: str, dashboard_url: str) -> None:
    """Refuse what would not fit into the descriptions of the alarms, or must not be there.

    Raises:
        ValueError: An address is none or too long, or a secret stands in its place.
    """
    _check("institution", institution, _INSTITUTION)
    _check("runbook_url", runbook_url, PAGE)
    _check("dashboard_url", dashboard_url, PAGE)


def check_publishers(publishers: Sequence[str], known: Sequence[str]) -> None:
    """Refuse services that have nothing to publish here.

    Raises:
        ValueError: One is unknown, or there is none.
    """
    check_all_present(publishers=publishers)
    wanted = [publishers] if isinstance(publishers, str) else list(publishers)
    unknown = sorted(set(wanted) - set(known))
    if unknown or isinstance(publishers, str) or not wanted:
        given = ", ".join(unknown) or ("a text" if wanted else "nothing")
        raise ValueError(f"publishers has {given}; use a list of {', '.join(known)}")


def check_reserved(reserved_concurrency: object) -> None:
    """Refuse a concurrency under which alerts never come, or change places.

    Raises:
        ValueError: It is neither 1 nor None.
    """
    if reserved_concurrency is not None and reserved_concurrency != 1:
        raise ValueError(
            f"reserved_concurrency is {reserved_concurrency!r}; use 1, which keeps the order of "
            "alerts, or None in an account without concurrency to reserve (0 would stop them all)"
        )


def check_here(alerts: IConstruct, name: str, watched: object) -> None:
    """Refuse what is known to be in another Region: its metrics are there, and no alarm sees them.

    Raises:
        ValueError: It is.
    """
    if not isinstance(watched, Construct):
        return
    here, there = stack_facts(alerts).region, stack_facts(watched).region
    if here != there and not (is_token(here) or is_token(there)):
        raise ValueError(
            f"{name} {watched.node.path} is in {there} and its alarms would be in {here}, where "
            f"they see nothing; make SlackAlerts in a stack of {there}"
        )


def _check(name: str, value: object, form: Form) -> None:
    if not isinstance(value, str):
        raise ValueError(f"{name} is a {type(value).__name__}; use {form.what}")
    try:
        form.check(value)
    except ValueError as fault:
        raise ValueError(f"{name}: {fault}") from None
