"""Versions and endpoints in the Build panel: which endpoint serves what, promote, roll back."""

# pyright: basic

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from loomlib import Workbench
from loomlib.errors import LoomError

from ...kit import Cancel, Form, PanelPort, action
from ...kit.source import connect_code, frame_rows


class ReleaseActions:
    """Actions on the endpoints of an agent.

    Args:
        panel: The panel that shows the agent.
        bench: Returns the workbench that the panel currently shows.
        changed: Called after an endpoint was created or changed.
    """

    def __init__(self, panel: PanelPort, bench: Callable[[], Workbench], changed: Callable[[], None]) -> None:
        self._panel, self._bench, self._changed = panel, bench, changed

    @action(lane="releases")
    def releases(self, form: Form) -> Mapping[str, Any]:
        """Return the endpoints of an agent with the versions that they serve, and the versions that are READY."""
        arn = form.text("arn")
        self._show_code(arn, "agent.versions(), agent.releases.endpoints()")
        return self._about(arn)

    @action(lane="releases")
    def promote(self, form: Form, cancel: Cancel) -> Mapping[str, Any]:
        """Make an endpoint serve a version; the endpoint is created if the agent does not have one of that name."""
        arn, endpoint, version = (form.text(name).strip() for name in ("arn", "endpoint", "version"))
        if not endpoint:
            raise LoomError("There is no endpoint to promote", on="no name is given", try_="prod")
        if not version:
            raise LoomError("There is no version to promote", on=endpoint, try_="choose one that is READY")
        self._show_code(arn, f"agent.releases.promote({endpoint!r}, version={version})")

        def step(line: str) -> None:
            self._panel.say(line)
            cancel.check()

        served = self._bench().agent(arn).releases.promote(endpoint, version, progress=step)
        return self._report_success(arn, f"{served.name} serves version {served.version}.")

    @action(lane="releases")
    def roll_back(self, form: Form) -> Mapping[str, Any]:
        """Make an endpoint serve the version that it served before."""
        arn, endpoint = form.text("arn"), form.text("endpoint")
        self._show_code(arn, f"agent.releases.rollback({endpoint!r})")
        served = self._bench().agent(arn).releases.rollback(endpoint, progress=self._panel.say)
        return self._report_success(arn, f"{served.name} serves version {served.version} again.")

    def _report_success(self, arn: str, sentence: str) -> Mapping[str, Any]:
        self._changed()
        self._panel.say(sentence)
        return self._about(arn)

    def _about(self, arn: str) -> dict[str, Any]:
        releases = self._bench().agent(arn).releases
        versions = frame_rows(releases.versions())
        return {
            "endpoints": frame_rows(releases.endpoints()),
            "versions": [row["version"] for row in versions if row["status"] == "READY"],
        }

    def _show_code(self, arn: str, code: str) -> None:
        name = self._bench().agent(arn).name
        self._panel.show_code(f"{connect_code(self._bench())}agent = bench.agent({name!r})\n{code}")
