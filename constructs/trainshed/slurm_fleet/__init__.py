"""The bare Slurm fleet without the CDK: its document, its files and what it refuses. Pure."""

from .archive import Archive, archive, archive_of_folder
from .document import Group, Mount, StoredObject, Surroundings, fleet_document, written
from .files import cluster_files
from .shapes import policy_of

__all__ = [
    "Archive",
    "Group",
    "Mount",
    "StoredObject",
    "Surroundings",
    "archive",
    "archive_of_folder",
    "cluster_files",
    "fleet_document",
    "policy_of",
    "written",
]
