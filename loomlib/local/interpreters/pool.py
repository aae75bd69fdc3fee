"""The sessions of all code interpreters, and the operations on them that are not invocations."""

from __future__ import annotations

import asyncio
import secrets
import time
import uuid
from collections.abc import Mapping
from typing import Any, Final

from ..paging import page_request
from ..resources import Place, ResourceRecord
from ..resources.store import ResourceStore
from ..sessions import SessionPool
from ..tenancy import new_tenant, owns_row
from ..wire import RefusedError, conflict, invalid, not_found
from .resource import CODE_INTERPRETER
from .session import READY, TERMINATED, InterpreterSession, SessionPlan

_TIMEOUT_S: Final = 900  # botocore's model: default; at most eight hours
_MOST_ACTIVE: Final = 100
"""Sessions that are READY at once, to protect this machine; AWS's quota is 1,000 an account."""

_MOST_ENDED: Final = 1_000
_BASE32 = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"  # Crockford's


class InterpreterPool:
    """Starts, finds, lists and stops sessions.

    Args:
        resources: The code interpreters.
        sessions: The sessions of runtimes, whose folder, isolation and limits also apply here.
    """

    def __init__(self, resources: ResourceStore, sessions: SessionPool) -> None:
        self._resources, self._shared = resources, sessions.shared
        self._sessions: dict[str, InterpreterSession] = {}
        self._closing = False
        self._tokens: dict[tuple[Place, str, str], tuple[str, Mapping[str, Any]]] = {}

    async def start_code_interpreter_session(self, parameters: Mapping[str, Any], *, place: Place) -> dict[str, Any]:
        """Start a session."""
        interpreter = self._interpreter(parameters, place)
        for member in ("certificates", "filesystemConfigurations"):
            if parameters.get(member):
                raise invalid(f"The local AgentCore does not support {member} of code interpreter sessions")
        token, tenant = parameters.get("clientToken") or "", new_tenant(interpreter.tenant)
        request = {name: parameters.get(name) for name in ("name", "sessionTimeoutSeconds")} | {"id": interpreter.id}
        if token and (former := self._tokens.get((place, tenant, token))):
            if former[1] != request:
                raise conflict("clientToken was used already, with other parameters")
            if same := self._sessions.get(former[0]):
                return _session_response(same)
        if self._closing:
            raise conflict("The local AgentCore is stopping")
        if sum(session.status == READY for session in self._sessions.values()) >= _MOST_ACTIVE:
            raise RefusedError(
                "ServiceQuotaExceededException", 402, f"{_MOST_ACTIVE} code interpreter sessions are active; stop some"
            )
        plan = SessionPlan(
            interpreter_id=interpreter.id,
            arn=interpreter.arn,
            place=place,
            session_id=_ulid(),
            name=parameters.get("name") or "",
            timeout_s=parameters.get("sessionTimeoutSeconds") or _TIMEOUT_S,
            tenant=tenant,
            has_network=interpreter.document["networkConfiguration"]["networkMode"] != "SANDBOX",
        )
        session = InterpreterSession(plan, self._shared, mark=str(uuid.uuid4()), on_end=self._forget_oldest)
        self._sessions[plan.session_id] = session
        if token:
            self._tokens[place, tenant, token] = (plan.session_id, request)
        return _session_response(session)

    async def get_code_interpreter_session(self, parameters: Mapping[str, Any], *, place: Place) -> dict[str, Any]:
        """Describe a session."""
        session = self.find(parameters, place)
        return _summary(session) | {"sessionTimeoutSeconds": session.plan.timeout_s}

    async def list_code_interpreter_sessions(self, parameters: Mapping[str, Any], *, place: Place) -> dict[str, Any]:
        """List the sessions of a code interpreter, the newest first."""
        interpreter_id = self._interpreter(parameters, place).id
        request = page_request(parameters, "ListCodeInterpreterSessions", str, size=10)
        status = parameters.get("status")
        sessions = [
            session
            for session in sorted(self._sessions.values(), key=lambda session: session.plan.session_id, reverse=True)
            if (session.plan.interpreter_id, session.plan.place) == (interpreter_id, place)
            and status in (None, session.status)
            and owns_row(session.plan.tenant)
            and (request.after is None or session.plan.session_id < request.after[0])
        ][: request.fetch]
        summaries = [_summary(session) | {"lastUpdatedAt": session.updated_at} for session in sessions]
        return request.page("items", summaries, lambda at: [sessions[at].plan.session_id])

    async def stop_code_interpreter_session(self, parameters: Mapping[str, Any], *, place: Place) -> dict[str, Any]:
        """Stop a session; do nothing if it has already ended."""
        session = self.find(parameters, place)
        await session.end("The session was stopped")
        return {
            "codeInterpreterIdentifier": session.plan.interpreter_id,
            "sessionId": session.plan.session_id,
            "lastUpdatedAt": session.updated_at,
        }

    def find(self, parameters: Mapping[str, Any], place: Place) -> InterpreterSession:
        """Return the session that a request names.

        Raises:
            RefusedError: The code interpreter does not have it in the caller's region, or it belongs to another tenant.
        """
        interpreter_id = self._interpreter(parameters, place).id
        session = self._sessions.get(parameters["sessionId"])
        if (
            session is None
            or (session.plan.interpreter_id, session.plan.place) != (interpreter_id, place)
            or not owns_row(session.plan.tenant)
        ):
            raise not_found(f"Code interpreter session not found: {parameters['sessionId']}")
        return session

    def find_ready(self, parameters: Mapping[str, Any], place: Place) -> InterpreterSession:
        """Return the session that a request names, if it is READY.

        Raises:
            RefusedError: It is not READY.
        """
        session = self.find(parameters, place)
        if session.status != READY:
            raise conflict(f"Code interpreter session {session.plan.session_id} is {TERMINATED}: {session.why_ended}")
        return session

    def end_sessions_of(self, interpreter_id: str) -> None:
        """End the sessions of a deleted code interpreter."""
        for session in self._sessions.values():
            if session.plan.interpreter_id == interpreter_id:
                session.begin_end("The code interpreter was deleted")

    async def close(self) -> None:
        """End every session and wait until all processes have ended."""
        self._closing = True
        await asyncio.gather(*(session.end("The local AgentCore is stopping") for session in self._sessions.values()))

    def _interpreter(self, parameters: Mapping[str, Any], place: Place) -> ResourceRecord:
        """Return the code interpreter that a request names by id or ARN."""
        key: str = parameters["codeInterpreterIdentifier"]
        presets = CODE_INTERPRETER.presets_in(place.region)
        record = next((preset for preset in presets if key in (preset.id, preset.arn)), None)
        record = record or self._resources.visible(CODE_INTERPRETER.noun, place, key)
        if record is None:
            raise not_found(f"Code interpreter not found: {key}")
        return record

    def _forget_oldest(self, _: InterpreterSession) -> None:
        ended = [key for key, session in self._sessions.items() if session.status == TERMINATED]
        for key in ended[:-_MOST_ENDED]:
            del self._sessions[key]
        if len(ended) > _MOST_ENDED:
            self._tokens = {name: value for name, value in self._tokens.items() if value[0] in self._sessions}


def _session_response(session: InterpreterSession) -> dict[str, Any]:
    plan = session.plan
    return {
        "codeInterpreterIdentifier": plan.interpreter_id,
        "sessionId": plan.session_id,
        "createdAt": session.created_at,
    }


def _summary(session: InterpreterSession) -> dict[str, Any]:
    name_member = {"name": session.plan.name} if session.plan.name else {}
    return {**_session_response(session), **name_member, "status": session.status}


def _ulid() -> str:
    """Return an id in the form of AWS's sessions: 48 bits of time and 80 random ones, in Crockford's base 32."""
    number = int(time.time() * 1000) << 80 | secrets.randbits(80)
    return "".join(_BASE32[number >> shift & 31] for shift in range(125, -1, -5))
