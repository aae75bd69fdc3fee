"""The runtime: a new one, or a new version of the existing one."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import replace
from typing import Final

from ...aws import Clients
from ...aws.endpoints import DEFAULT_ENDPOINT, describe_endpoints
from ...aws.runtime_requests import (
    RuntimeCode,
    RuntimeRequest,
    SettingChange,
    create_runtime,
    restore_version,
    runtime_changes,
    update_runtime,
)
from ...aws.runtimes import (
    FAILED_STATES,
    RuntimeDescription,
    delete_runtime,
    describe_runtime,
    find_runtime,
    wait_until_gone,
    wait_until_ready,
)
from ...aws.tags import read_tags, write_tags
from ...errors import AwsError, ConflictError, DeployError, RequestRejectedError, ResourceNotFoundError
from ...presentation.formats import join
from ..journal import DeployJournal, Intent
from ..names import AGENT_TAG
from ..steps import PlanStep
from .part import Report

_ROLE_KNOWN_WITHIN_S: Final = 60.0
"""Seconds for which AgentCore may not know a new role: IAM's changes reach other services with a delay."""
_SETTLES_WITHIN_S: Final = 900.0


class RuntimePart:
    """The agent's runtime.

    Args:
        clients: The AWS clients of a connection.
        request: The desired settings.
        timeout_s: Seconds to wait for READY.
    """

    kind = "runtime"

    def __init__(self, clients: Clients, request: RuntimeRequest, *, timeout_s: float = _SETTLES_WITHIN_S) -> None:
        self._clients, self._request, self._timeout_s = clients, request, timeout_s
        self.deployed: RuntimeDescription | None = None

    def use_image(self, uri: str) -> None:
        """Set the image to run; its digest is known once it is built."""
        self._request = replace(self._request, code=RuntimeCode(image=uri))

    def look(self) -> PlanStep:
        """Compare the runtime's settings, tags and status."""
        name = self._request.name
        runtime_id = find_runtime(self._clients, name)
        if runtime_id is None:
            return PlanStep(kind=self.kind, name=name, action="create", changes=self._new())
        runtime, changes = runtime_changes(self._clients, runtime_id, self._request)
        tags = read_tags(self._clients, runtime.arn)
        is_own = tags.get(AGENT_TAG) == name
        if self._starts_anew(runtime, is_own=is_own):
            note = f"its status is {runtime.status} and no version works: it is deleted first"
            return PlanStep(kind=self.kind, name=name, action="create", changes=self._new(), note=note)
        if runtime.status != "READY":
            changes += (SettingChange(setting="status", before=runtime.status, after="READY"),)
        changes += self._tag_changes(tags, is_own=is_own)
        self.deployed = None if changes else runtime
        return PlanStep(
            kind=self.kind,
            name=name,
            action="change" if changes else "keep",
            changes=changes,
            note="" if is_own else "Loom did not create it: it is updated, never deleted",
        )

    def carry_out(self, step: PlanStep, journal: DeployJournal, report: Report) -> None:
        """Create or update the runtime, and wait until it is READY."""
        name = self._request.name
        runtime_id = find_runtime(self._clients, name)
        if runtime_id is not None and self._starts_anew(
            self._settled(runtime_id, report), is_own=self._owns(runtime_id)
        ):
            report("deleting the runtime that failed")
            journal.add(Intent(kind=self.kind, name=name, action="create"))
            delete_runtime(self._clients, runtime_id)
            wait_until_gone(self._clients, runtime_id)
            runtime_id = None
        if runtime_id is None:
            journal.add(Intent(kind=self.kind, name=name, action="create"))
            report("creating the runtime")
            runtime_id = self._created()
        else:
            self._update(runtime_id, journal, report)
        ready = wait_until_ready(self._clients, runtime_id, timeout_s=self._timeout_s, progress=report)
        self._write_tags(ready)  # last, so that they do not describe an update that failed
        self.deployed = ready

    def undo(self, intent: Intent, report: Report) -> str:
        """Delete the runtime, or restore its previous version."""
        runtime_id = find_runtime(self._clients, intent.name)
        if runtime_id is None:
            return ""
        if intent.action == "create":
            if not self._owns(runtime_id):
                return f"kept the runtime {intent.name}, which Loom did not create"
            self._check_unused(runtime_id)
            report("deleting the runtime")
            delete_runtime(self._clients, runtime_id)
            wait_until_gone(self._clients, runtime_id)
            return f"deleted the runtime {intent.name}"
        version = str(intent.before.get("version") or "")
        if not version:
            return f"kept the runtime {intent.name}, which did not have a working version"
        if self._settled(runtime_id, report).version == version:
            return ""
        report(f"restoring version {version} of the runtime")
        restore_version(self._clients, runtime_id, version)
        wait_until_ready(self._clients, runtime_id, timeout_s=self._timeout_s, progress=report)
        return f"restored version {version} of the runtime {intent.name}, as a new version"

    def _update(self, runtime_id: str, journal: DeployJournal, report: Report) -> None:
        settled = self._settled(runtime_id, report)
        runtime, changes = runtime_changes(self._clients, runtime_id, self._request)
        if changes or settled.status != "READY":
            before = {"version": runtime.version} if settled.status == "READY" else {}
            journal.add(Intent(kind=self.kind, name=self._request.name, action="change", before=before))
            report("updating the runtime")
            update_runtime(self._clients, runtime_id, self._request)

    def _write_tags(self, runtime: RuntimeDescription) -> None:
        tags = read_tags(self._clients, runtime.arn)
        if changes := self._tag_changes(tags, is_own=tags.get(AGENT_TAG) == self._request.name):
            names = {change.setting.removeprefix("tags.") for change in changes}
            write_tags(self._clients, runtime.arn, {name: self._request.tags[name] for name in names})

    def _created(self) -> str:
        """Create the runtime; retry until AgentCore accepts a newly created role."""
        deadline, pause_s = time.monotonic() + _ROLE_KNOWN_WITHIN_S, 1.0
        while True:
            try:
                return create_runtime(self._clients, self._request)
            except ConflictError:
                runtime_id = find_runtime(self._clients, self._request.name)
                if runtime_id is None:
                    raise
                return runtime_id
            except RequestRejectedError as error:
                if not _is_about_role(error) or time.monotonic() > deadline:
                    raise
                time.sleep(pause_s)
                pause_s = min(pause_s * 1.5, 8.0)

    def _settled(self, runtime_id: str, report: Report) -> RuntimeDescription:
        """Return the runtime once it is no longer being created or updated."""
        try:
            return wait_until_ready(self._clients, runtime_id, timeout_s=self._timeout_s, progress=report)
        except ResourceNotFoundError:
            raise
        except AwsError as error:
            if error.code not in FAILED_STATES:
                raise
            return describe_runtime(self._clients, runtime_id)

    def _owns(self, runtime_id: str) -> bool:
        runtime = describe_runtime(self._clients, runtime_id)
        return read_tags(self._clients, runtime.arn).get(AGENT_TAG) == self._request.name

    def _check_unused(self, runtime_id: str) -> None:
        """Raise an error if the runtime has endpoints that this deployment did not create; its own are already deleted.

        The journal is local to one machine; later deployments from other machines do not know it.
        """
        endpoints = describe_endpoints(self._clients, runtime_id)
        names = [endpoint.name for endpoint in endpoints if endpoint.name != DEFAULT_ENDPOINT]
        if names:
            raise DeployError(
                f"The runtime has endpoints that this deployment did not make: {join(names)}",
                on=self._request.name,
                try_="apply(), which completes the deployment, or delete these endpoints first",
            )

    @staticmethod
    def _starts_anew(runtime: RuntimeDescription, *, is_own: bool) -> bool:
        return is_own and runtime.status == "CREATE_FAILED"

    def _new(self) -> tuple[SettingChange, ...]:
        variables = sorted(self._request.environment)
        code, settings = self._request.code, self._request.settings
        values: Mapping[str, str | int | None] = {
            "code": code.image or f"s3://{code.bucket}/{code.key}",
            "agent.python": code.python,
            "agent.entry_point": code.entry_point,
            "role": self._request.role_arn,
            "agent.description": self._request.description,
            "agent.protocol": settings.protocol,
            "platform.version": settings.platform_version,
            "platform.warmup": settings.warmup,
            "platform.idle_timeout_s": settings.idle_timeout_s,
            "platform.max_lifetime_s": settings.max_lifetime_s,
            "platform.storage": settings.storage,
            "authorizer.discovery_url": settings.authorizer and settings.authorizer.discovery_url,
            "network.subnets": ", ".join(settings.subnets),
            "network.security_groups": ", ".join(settings.security_groups),
            "environment": ", ".join(variables),
        }
        return tuple(
            SettingChange(setting=setting, before="", after=str(value)) for setting, value in values.items() if value
        )

    def _tag_changes(self, tags: Mapping[str, str], *, is_own: bool) -> tuple[SettingChange, ...]:
        """Return the tags that change; a runtime that Loom did not create does not get Loom's tag."""
        return tuple(
            SettingChange(setting=f"tags.{name}", before=tags.get(name, ""), after=value)
            for name, value in self._request.tags.items()
            if tags.get(name) != value and (is_own or name != AGENT_TAG)
        )


def _is_about_role(error: RequestRejectedError) -> bool:
    text = error.what.lower()
    return "role" in text and ("assume" in text or "validation failed" in text or "does not exist" in text)
