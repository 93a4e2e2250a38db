"""The shared file system of a cluster, its bucket and the links between them."""

from .data_bucket import DataBucket
from .links import LustreLinks
from .lustre_storage import LustreStorage
from .metrics import LustreMetrics

__all__ = ["DataBucket", "LustreLinks", "LustreMetrics", "LustreStorage"]
