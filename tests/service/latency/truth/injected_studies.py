"""Real latency studies of an agent with injected times, over HTTP."""

from __future__ import annotations

import itertools
import json
import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.client import HTTPConnection
from multiprocessing import get_context
from pathlib import Path
from random import SystemRandom
from typing import Any
from urllib.parse import quote, urlsplit
from uuid import uuid4

from botocore.auth import SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials

import loomlib as loom
from loomlib import local
from loomlib.aws.connection import Clients, Connection
from loomlib.latency import LatencyStudy, Silent
from loomlib.reports import study_traces
from loomlib.workbench.study_target import StudyTarget

from ...recording_proxy import recording_proxy
from .injection import COLD, WARM, Coverage, Law, Rest, check_study, constant, injected

AGENT = Path(__file__).with_name("injected")
NEIGHBOURS = 4
"""Studies on each side of one whose calls with constant times tell its rest, too."""
BETWEEN_ENDS, NULL_WARM = 4, 3
"""A session with constant times begins at every so many ends of the study's sessions, with so many warm calls."""
PATIENCE_S = 60.0


@dataclass(frozen=True, kw_only=True)
class Design:
    """The calls of each study."""

    cold: int = 12
    warm: int = 12
    sticky: int = 24


class Interleaved(StudyTarget):
    """A study's agent; between the study's calls, which are timed one by one, other calls are made.

    Args:
        agent: The agent.
        between: Called when the study ends one of its sessions.
    """

    def __init__(self, agent: loom.Agent, between: Callable[[], None]) -> None:
        super().__init__(agent.context, agent.entry, agent.qualifier)
        self._between = between

    def end_session(self, session_id: str) -> bool:
        """End a session, and make the other calls."""
        ended = super().end_session(session_id)
        self._between()
        return ended


@dataclass(frozen=True, slots=True, kw_only=True)
class NullCall:
    """A call with constant times: when it was sent (Unix time), how long it took, and what the agent noted."""

    sent: float
    whole_ms: float
    noted: Mapping[str, Any]


@dataclass
class Lane:
    """One study after the other, with calls with constant times between their calls."""

    bench: loom.Workbench
    platform: str
    agent: loom.Agent
    null: loom.Agent
    network: str
    credentials: Credentials
    rests: list[list[Rest]] = field(default_factory=list[list[Rest]])
    studies: list[tuple[int, Any, Any]] = field(default_factory=list[tuple[int, Any, Any]])
    _ends: int = 0

    def __post_init__(self) -> None:
        self._connection = HTTPConnection(urlsplit(self.network).netloc)
        self._payload = json.dumps({"prompt": "Wait.", "instead": _as_read(constant(self.platform))}).encode()

    def run(self, seeds: Sequence[int], design: Design) -> Lane:
        """Run a study for each seed."""
        self._null_session()  # what is only slow once
        for seed in seeds:
            self.rests.append([])
            study = LatencyStudy(
                Interleaved(self.agent, self._between),
                cold=design.cold,
                warm=design.warm,
                sticky=design.sticky,
                seed=seed,
                prompt="Wait.",
            )
            result = study.run(Silent())
            self.studies.append((seed, result, self._inside(result)))
        return self

    def coverage(self) -> Iterator[Coverage]:
        """Whether each interval contained the truth, study by study."""
        for place, (seed, result, inside) in enumerate(self.studies):
            near = self.rests[max(0, place - NEIGHBOURS) : place + NEIGHBOURS + 1]
            yield check_study(result, inside, [*itertools.chain(*near)], self.platform, seed)

    def _inside(self, result: loom.StudyResult) -> Any:
        until = time.monotonic() + PATIENCE_S
        views = study_traces(self.agent, result)
        while set(views.states()) != {"found"}:
            if time.monotonic() > until:
                raise TimeoutError(f"the traces of study {result.study_id} were not found: {views.states()}")
            time.sleep(0.05)
            views = study_traces(self.agent, result)
        return result.inside(views)

    def _between(self) -> None:
        self._ends += 1
        if self._ends % BETWEEN_ENDS == 0:
            self.rests[-1] += self._null_session()

    def _null_session(self) -> list[Rest]:
        session = f"{_NULL}{uuid4().hex}"
        calls = [self._null_call(session) for _ in (COLD, *[WARM] * NULL_WARM, "for the end of the call before")]
        self.null.end_session(session)
        return [
            Rest.of(
                kind,
                platform=self.platform,
                sent=call.sent,
                whole_ms=call.whole_ms,
                noted=call.noted,
                answered=following.noted["previous_answered"],
            )
            for kind, call, following in zip((COLD, *[WARM] * NULL_WARM), calls, calls[1:], strict=False)
        ]

    def _null_call(self, session: str) -> NullCall:
        """Call the agent by http.client, with the request signed before the clock is read."""
        path = f"/runtimes/{quote(self.null.arn, safe='')}/invocations"
        headers = {"Content-Type": "application/json", _SESSION: session}
        request = AWSRequest("POST", self.network + path, data=self._payload, headers=headers)
        SigV4Auth(self.credentials, "bedrock-agentcore", self.bench.context.clients.region).add_auth(request)
        if self._connection.sock is None:
            self._connection.connect()
        sent_at, sent_ns = time.time(), time.monotonic_ns()
        self._connection.request("POST", path, self._payload, dict(request.headers))
        answer = self._connection.getresponse()
        body = answer.read()
        whole_ms = (time.monotonic_ns() - sent_ns) / 1e6
        assert answer.status == 200, body
        return NullCall(sent=sent_at, whole_ms=whole_ms, noted=json.loads(body))


def _as_read(laws: Mapping[str, Law]) -> dict[str, list[float]]:
    return {name: law.given() for name, law in laws.items()}


_SESSION, _NULL = "x-amzn-bedrock-agentcore-runtime-session-id", "null-"


def _delay(law: Law, headers: Mapping[str, str]) -> None:
    """Delay what belongs to an invocation, as the network does."""
    if session := headers.get(_SESSION):
        is_null = session.startswith(_NULL)
        time.sleep((law.mean if is_null else law.offset + SystemRandom().gammavariate(law.shape, law.scale)) / 1000)


@contextmanager
def _lane(bench: loom.Workbench, platform: str) -> Iterator[Lane]:
    """A lane: its agents, and a connection to AgentCore through a network that delays requests and answers.

    On V2 the agent itself can be called with constant times; on V1 that takes another one with a constant start.
    """

    def deploy(name: str, laws: Mapping[str, Law]) -> str:
        variables = {"INJECTED": json.dumps(_as_read(laws)), "PLATFORM": platform}
        bench.deploy(AGENT, name=name, environment=variables, platform_version=platform)
        return name

    agent = deploy("injected", injected(platform))
    null = deploy("constant_times", constant(platform)) if platform == "V1" else agent
    variables, laws = bench.context.environment.environment(), injected(platform)
    with recording_proxy(
        variables["AWS_ENDPOINT_URL"],
        before_request=lambda headers: _delay(laws["request"], headers),
        before_answer=lambda request: _delay(laws["response"], request.headers),
    ) as (url, _):
        context = bench.context
        clients = Clients(
            Connection(
                region=context.clients.region, environment={**variables, "AWS_ENDPOINT_URL_BEDROCK_AGENTCORE": url}
            )
        )
        behind = loom.Workbench(
            type(context)(
                where=context.where,
                settings=context.settings,
                store=context.store,
                clients=clients,
                environment=context.environment,
            )
        )
        credentials = Credentials(variables["AWS_ACCESS_KEY_ID"], variables["AWS_SECRET_ACCESS_KEY"])
        yield Lane(
            bench=behind,
            platform=platform,
            agent=behind.agent(agent),
            null=behind.agent(null),
            network=url,
            credentials=credentials,
        )


def run_studies(platform: str, seeds: Sequence[int], home: Path, design: Design | None = None) -> Coverage:
    """Run a study for each seed, one after the other, and return which intervals contained the truth.

    Args:
        platform: "V1" or "V2".
        seeds: A seed for each study.
        home: A home folder of its own; its service ends.
        design: The calls of each study.
    """
    total = Coverage()
    with loom.connect(home=home) as bench, _lane(bench, platform) as lane:
        for coverage in lane.run(seeds, design or Design()).coverage():
            total.add(coverage)
    local.stop(home)
    return total


def run_at_once(
    platform: str, seeds: Sequence[int], folder: Path, *, lanes: int | None = None, design: Design | None = None
) -> Coverage:
    """Run studies in several processes: threads of one process would wait for each other's Python.

    Args:
        platform: "V1" or "V2".
        seeds: A seed for each study.
        folder: Where the lanes' home folders go.
        lanes: Studies that run at the same time, each with a local AgentCore of its own; one for two processors by
            default, since a call uses more than one.
        design: The calls of each study.
    """
    total = Coverage()
    lanes = lanes or max(1, len(os.sched_getaffinity(0)) // 2)
    with ProcessPoolExecutor(lanes, mp_context=get_context("spawn")) as pool:
        futures = [
            pool.submit(run_studies, platform, seeds[lane::lanes], folder / f"{platform}-{lane}", design)
            for lane in range(lanes)
        ]
        for future in futures:
            total.add(future.result())
    return total
