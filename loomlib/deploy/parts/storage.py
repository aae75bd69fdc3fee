"""The bucket of the agents' code, and the package in it."""

from __future__ import annotations

from ...aws import Clients, Package
from ...aws.buckets import delete_empty_bucket, delete_object, has_bucket, has_object
from ...aws.deploy import code_bucket, make_bucket, package_key, upload_package
from ...aws.tags import read_bucket_tags, write_bucket_tags
from ...presentation.formats import size
from ..journal import DeployJournal, Intent
from ..names import PURPOSE_TAG
from ..steps import PlanStep
from .part import Report

_PURPOSE = {PURPOSE_TAG: "agent-code"}


class BucketPart:
    """The bucket that all agents of an account and region share."""

    kind = "bucket"

    def __init__(self, clients: Clients) -> None:
        self._clients = clients

    def look(self) -> PlanStep:
        """Check whether the bucket exists."""
        name = code_bucket(self._clients)
        is_there = has_bucket(self._clients, name)
        return PlanStep(kind=self.kind, name=name, action="keep" if is_there else "create")

    def carry_out(self, step: PlanStep, journal: DeployJournal, report: Report) -> None:
        """Create the bucket, with public access blocked."""
        report("creating the bucket for code")
        journal.add(Intent(kind=self.kind, name=step.name, action="create"))
        make_bucket(self._clients, step.name)
        write_bucket_tags(self._clients, step.name, _PURPOSE)

    def undo(self, intent: Intent, report: Report) -> str:
        """Delete the bucket if it is empty and was created by Loom."""
        if not has_bucket(self._clients, intent.name):
            return ""
        tags = read_bucket_tags(self._clients, intent.name)
        if tags and tags != _PURPOSE:
            return f"kept the bucket {intent.name}, which somebody else has tagged"
        report("deleting the bucket")
        if delete_empty_bucket(self._clients, intent.name):
            return f"deleted the bucket {intent.name}"
        return f"kept the bucket {intent.name}, which contains objects"


class PackagePart:
    """The package, named by its digest in the runtime's folder."""

    kind = "package"

    def __init__(self, clients: Clients, agent: str, package: Package) -> None:
        self._clients, self._agent, self._package = clients, agent, package

    def look(self) -> PlanStep:
        """Check whether an object with the package's digest exists."""
        bucket, key = code_bucket(self._clients), package_key(self._agent, self._package)
        is_there = has_bucket(self._clients, bucket) and has_object(self._clients, bucket, key)
        return PlanStep(
            kind=self.kind,
            name=f"s3://{bucket}/{key}",
            action="keep" if is_there else "create",
            note=f"{size(len(self._package.data))}, {size(self._package.unzipped_bytes)} unzipped",
        )

    def carry_out(self, step: PlanStep, journal: DeployJournal, report: Report) -> None:
        """Upload the package."""
        report("uploading the package")
        journal.add(Intent(kind=self.kind, name=step.name, action="create"))
        upload_package(self._clients, self._agent, self._package)

    def undo(self, intent: Intent, report: Report) -> str:
        """Delete the object."""
        bucket, _, key = intent.name.removeprefix("s3://").partition("/")
        if not has_bucket(self._clients, bucket) or not has_object(self._clients, bucket, key):
            return ""
        report("deleting the package")
        delete_object(self._clients, bucket, key)
        return f"deleted the package {intent.name}"
