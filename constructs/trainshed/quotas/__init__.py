"""What an institution's cluster needs of its account's quotas. Pure; nothing asks AWS.

::

    print(quota_table(quota_needs(institution), institution.region))
"""

from __future__ import annotations

from .needs import Need, quota_needs
from .quota import Quota, vcpu_class
from .table import quota_table, request_command

__all__ = ["Need", "Quota", "quota_needs", "quota_table", "request_command", "vcpu_class"]
