"""Archives of a fleet as CDK assets whose SHA-256 is known at synth."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

from aws_cdk import aws_s3_assets as s3_assets
from constructs import Construct

from ..slurm_fleet import Archive, StoredObject


class ArchiveAsset(Construct):
    """Uploads an archive as it is: CDK's own zip files are not the same on every machine.

    Args:
        archive: The archive.
    """

    stored: StoredObject
    """Where it is, with its SHA-256."""

    def __init__(self, scope: Construct, id: str, *, archive: Archive) -> None:
        super().__init__(scope, id)
        with TemporaryDirectory() as folder:
            path = Path(folder, f"{id.lower()}.zip")
            path.write_bytes(archive.data)
            # It is copied into the assembly here and now.
            made = s3_assets.Asset(self, "Asset", path=str(path), asset_hash=archive.sha256)
        self.stored = StoredObject(
            bucket=made.s3_bucket_name, key=made.s3_object_key, sha256=archive.sha256
        )
