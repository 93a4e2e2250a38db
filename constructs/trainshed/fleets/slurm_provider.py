"""The custom resource provider that fills, awaits and empties a bare Slurm fleet."""

from __future__ import annotations

from aws_cdk import Duration
from aws_cdk import aws_lambda as lambda_
from constructs import Construct

from .._given import check_present
from .provider_acknowledgments import OF_EVERY_FUNCTION
from .slurm_rights import Place, is_complete_rights, on_event_rights
from .waiting_provider import WaitingProvider


class SlurmFleetProvider(WaitingProvider):
    """Raises the groups of a fleet, waits until Slurm has every node, and empties them at the end.

    Args:
        place: The cluster; the rights end at it.
        timeout: How long a creation or an update may take, 1 second to an hour. Default: an hour.
        log_retention_days: How long the functions' logs are kept. Default: 180.

    Raises:
        ValueError: The timeout is above what CloudFormation waits.
    """

    def __init__(
        self,
        scope: Construct,
        id: str,
        *,
        place: Place,
        timeout: Duration | None = None,
        log_retention_days: int = 180,
    ) -> None:
        check_present(place=place)
        super().__init__(
            scope,
            id,
            folder="slurm_fleet",
            what="Slurm fleet provider",
            does="fill and empty the groups of a Slurm cluster",
            runtime=lambda_.Runtime.PYTHON_3_14,
            architecture=lambda_.Architecture.ARM_64,
            reasons=OF_EVERY_FUNCTION,
            timeout=timeout,
            log_retention_days=log_retention_days,
        )
        start = self._policy("StartPolicy", on_event_rights(place))
        look = self._policy("LookPolicy", is_complete_rights(place))
        starts = self._role("OnEventRole", "Starts work on a fleet", start, self._write_log)
        looks = self._role("IsCompleteRole", "Looks whether it is done", look, self._write_log)
        self.on_event = self._function("OnEvent", starts, timeout_minutes=5)
        self.is_complete = self._function("IsComplete", looks, timeout_minutes=5)
        self._wait(query_seconds=30)
