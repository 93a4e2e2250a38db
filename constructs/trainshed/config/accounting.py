"""The database of Slurm's accounting: one that is made, or one that is there already."""

from typing import Annotated, Self

from pydantic import Field, model_validator

from ..records import OnChange, Record
from .faults import Fault, refuse
from .texts import Form, SecretArn, SecurityGroupId, SubnetId

# Aurora user guide "Performance and scaling for Aurora Serverless v2", read 2026-11-29: capacity
# goes in steps of half a unit (2 GiB of memory each), up to 256 on new hardware and 128 on every.
CapacityUnits = Annotated[float, Field(ge=0.5, le=128, multiple_of=0.5)]


MADE_USER = "slurm"
"""Database user of a database that is made here."""


class NewDatabase(Record):
    """An Aurora MySQL database, made with the foundation stack and kept when that goes."""

    second_zone: Annotated[str | None, OnChange.REFUSED] = None
    """Another zone of the Region, by name or id as the network's own; for a new VPC."""
    subnet_ids: Annotated[tuple[SubnetId, ...], OnChange.REFUSED] = ()
    """Two private subnets in two zones; for an existing VPC."""
    min_capacity_units: Annotated[CapacityUnits, OnChange.LIVE] = 0.5
    """Capacity that is always there and paid for, in Aurora capacity units of 2 GiB."""
    max_capacity_units: Annotated[CapacityUnits, OnChange.LIVE] = 4
    """Most capacity it grows to."""
    backup_retention_days: Annotated[int, Field(ge=1, le=35), OnChange.LIVE] = 35
    """Days that it can be brought back to any second of."""

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        if self.min_capacity_units > self.max_capacity_units:
            refuse(
                [
                    Fault.at(
                        "min_capacity_units",
                        reason=f"{self.min_capacity_units:g} is above max_capacity_units, "
                        f"{self.max_capacity_units:g}; use {self.max_capacity_units:g} or less",
                    )
                ]
            )
        return self


class AccountingDatabase(Record):
    """A MySQL database for Slurm accounting: ``create``, or ``host``, ``user`` and the secret."""

    create: Annotated[NewDatabase | None, OnChange.STOPS_FLEET] = None
    """Make one. Default: it is there already, at host."""
    host: Annotated[
        str,
        Form(
            r"[A-Za-z0-9]([A-Za-z0-9.-]{0,251}[A-Za-z0-9])?(:([1-9]\d{0,3}|[1-5]\d{4}|6[0-4]\d{3}"
            r"|65[0-4]\d{2}|655[0-2]\d|6553[0-5]))?",
            "a host, with its port (1 to 65535) where that is not 3306, without scheme: "
            "db.example.edu:3306",
        ),
        OnChange.STOPS_FLEET,
    ] = ""
    """Host, and port after a colon."""
    user: Annotated[
        str,
        # MySQL 8.0 reference manual "Access control, stage 1": at most 32 characters. Slurm's
        # StorageUser has no way to quote one.
        Form(r"[\w.$@-]{1,32}", "a database user: up to 32 letters, digits, _ . $ @ -"),
        OnChange.STOPS_FLEET,
    ] = ""
    """Database user."""
    password_secret_arn: Annotated[SecretArn, OnChange.STOPS_FLEET] = ""
    """Secret that holds the password as plain text, nothing around it."""
    client_security_group_id: Annotated[SecurityGroupId | None, OnChange.LIVE] = None
    """Group that the database lets in; the head node gets it. Default: it needs none."""
    database: Annotated[
        str,
        Form(r"[0-9a-z_]{1,64}", "a database name: up to 64 of 0-9 a-z _"),
        OnChange.STOPS_FLEET,
    ] = "slurm_acct"
    """Name of the database in the server; slurmdbd makes it."""

    @model_validator(mode="after")
    def _one_of_both(self) -> Self:
        needed = ("host", "user", "password_secret_arn")
        if self.create is None:
            refuse(
                Fault.at(key, reason="required, but not given; or write create: {}")
                for key in needed
                if not getattr(self, key)
            )
        else:
            reason = "is of a database that is there already; leave it or create out"
            refuse(
                Fault.at(key, reason=reason)
                for key in (*needed, "client_security_group_id")
                if getattr(self, key)
            )
        return self

    def made(self, *, host: str, password_secret_arn: str, client_security_group_id: str) -> Self:
        """Return the record of the database once it is made.

        Args:
            host: Host of it.
            password_secret_arn: Secret of the password.
            client_security_group_id: Group that it lets in.
        """
        return self.model_copy(
            update={
                "create": None,
                "host": host,
                "user": MADE_USER,
                "password_secret_arn": password_secret_arn,
                "client_security_group_id": client_security_group_id,
            }
        )
