"""Faults, under the name that records of the institution file know them by."""

from ..faults import Fault, FaultsError, KeyPath, dotted, refuse

__all__ = ["Fault", "FaultsError", "KeyPath", "dotted", "refuse"]
