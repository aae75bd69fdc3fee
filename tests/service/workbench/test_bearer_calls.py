"""Calls with a bearer token, through the workbench and the command line."""

from __future__ import annotations

import logging
import os
import stat
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest
from echo_agent import make_echo_agent
from waiting import wait_until

import loomlib as loom
from loomlib.errors import AccessDeniedError, InvocationFailedError, LocalServiceError, RequestRejectedError
from loomlib.evals import Turn
from loomlib.latency import Silent
from loomlib.workbench import ask_agui, confirm

PROMPT = "What is 2+2?"


@pytest.fixture(scope="module")
def protected(bench: loom.Workbench) -> loom.Agent:
    """An agent that only tokens of the local issuer may call."""
    return bench.deploy("calculator", name="protected", authorizer="local")


def test_an_agent_is_called_with_a_token(bench: loom.Workbench, protected: loom.Agent) -> None:
    token = bench.identity.token(user="alice")
    answer = protected.invoke(PROMPT, bearer=token)
    assert (answer.ok, "4" in answer.text) == (True, True), answer.error
    streamed = "".join(getattr(event, "text", "") for event in protected.stream(PROMPT, bearer=token))
    assert "4" in streamed


async def test_an_agent_is_called_with_a_token_in_a_running_loop(bench: loom.Workbench, protected: loom.Agent) -> None:
    assert (await protected.ainvoke(PROMPT, bearer=bench.identity.token(user="alice"))).ok


@pytest.fixture(scope="module")
def echo_code(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The code of an agent that answers at once, for what the service checks before an agent is asked."""
    return make_echo_agent(tmp_path_factory.mktemp("code") / "echo")


@pytest.fixture(scope="module")
def protected_assistant(bench: loom.Workbench) -> loom.Agent:
    """An AG-UI agent for callers that have a token of the local issuer."""
    return bench.deploy("agui_assistant", name="protected_assistant", authorizer="local")


@pytest.mark.parametrize("transport", ["sse", "websocket"])
def test_an_ag_ui_agent_is_called_with_a_token(
    bench: loom.Workbench, protected_assistant: loom.Agent, transport: Any
) -> None:
    agent = protected_assistant
    with pytest.raises(InvocationFailedError, match="AccessDeniedException"):
        agent.protocols.agui(transport=transport).run("Where is order A-1042?").raise_for_status()
    token = bench.identity.token(user="alice")
    run = agent.protocols.agui(transport=transport, bearer=token).run("Where is order A-1042?")
    assert (run.ok, run.authorization().subject) == (True, "alice"), run.error


def test_a_question_of_a_run_is_answered_with_a_token(bench: loom.Workbench, protected_assistant: loom.Agent) -> None:
    token = bench.identity.token(user="alice")
    added = ask_agui(protected_assistant.at(bearer=token), "Add 2 lamps to the cart.")
    order = ask_agui(protected_assistant.at(bearer=token), "Place the order.", session_id=added.session_id)
    (question,) = order.protocols.agui().confirmations
    assert confirm(order, question.id, approved=True, bearer=lambda: token).raise_for_status().ok


def test_an_approval_is_decided_with_the_token_of_the_agent(bench: loom.Workbench) -> None:
    memory = bench.memories.create("protected_approvals")
    agent = bench.deploy("approvals", name="protected_approvals", memory=memory, authorizer="local")
    agent = agent.at(bearer=lambda: bench.identity.token(user="alice"))
    agent.invoke("Refund 40 euros for order A-1042.").raise_for_status()
    (waiting,) = agent.approvals.list().pending
    assert "too much" in agent.approvals.reject(waiting, note="too much").raise_for_status().text


def test_a_call_without_a_token_says_what_to_pass(protected: loom.Agent) -> None:
    answer = protected.invoke(PROMPT)
    assert (answer.ok, answer.failure) == (False, "rejected")
    assert "Authorization method mismatch" in (answer.error or "")
    assert "pass a token as bearer=" in (answer.error or "")


def test_a_token_of_another_client_is_refused_with_the_claim(bench: loom.Workbench, protected: loom.Agent) -> None:
    answer = protected.invoke(PROMPT, bearer=bench.identity.token(user="alice", client="phone"))
    assert answer.failure == "rejected"
    assert "Claim 'client_id' value mismatch with configuration." in (answer.error or "")
    with pytest.raises(loom.LoomError, match="client_id"):
        answer.raise_for_status()


def test_a_session_is_ended_with_a_token(bench: loom.Workbench, protected: loom.Agent) -> None:
    token = bench.identity.token(user="alice")
    session_id = protected.invoke(PROMPT, bearer=token).session_id
    with pytest.raises(AccessDeniedError, match="Authorization method mismatch"):
        protected.end_session(session_id)
    assert protected.end_session(session_id, bearer=token) is True
    assert protected.end_session(session_id, bearer=token) is False


@pytest.mark.parametrize("bearer", ["", "Bearer abc", "abc\r\nX-Other: 1", "ключ", "a b"])
def test_a_text_that_is_no_token_is_refused_and_not_repeated(protected: loom.Agent, bearer: str) -> None:
    with pytest.raises(ValueError, match="bearer is not a token") as caught:
        protected.invoke(PROMPT, bearer=bearer)
    assert not bearer or bearer not in str(caught.value)


def test_a_token_is_sent_only_where_nobody_can_read_it() -> None:
    from loomlib.aws.bearer import check_may_receive_token

    for address in ("https://bedrock-agentcore.us-east-1.amazonaws.com", "http://127.0.0.1:8080"):
        check_may_receive_token(address)
    for address in ("http://example.com", "http://127.0.0.1.example.com"):
        with pytest.raises(RequestRejectedError, match="not sent over HTTP"):
            check_may_receive_token(address)


def test_a_token_is_neither_stored_nor_logged(
    bench: loom.Workbench, protected: loom.Agent, home: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    tokens = [bench.identity.token(user="alice"), bench.identity.token(user="alice", client="phone")]
    answers = [protected.invoke(PROMPT, bearer=token) for token in tokens]
    views = [answer.authorization() for answer in answers]
    protected.telemetry.logs(limit=1000)
    output = repr(answers) + repr(views) + "".join(answer._repr_html_() for answer in answers) + caplog.text
    output += "".join(view._repr_html_() + str(view.to_dict()) for view in views)
    secrets = [part for token in tokens for part in token.split(".")[1:]]
    assert not any(part in output for part in secrets)
    # In another process: one that opens SQLite's files beside SQLite loses its locks.
    patterns = [option for part in secrets for option in ("-e", part)]
    searched = subprocess.run(["grep", "-rlaF", *patterns, str(home)], capture_output=True, text=True)
    assert (searched.returncode, searched.stdout) == (1, ""), searched


def test_authorization_tells_who_called_and_what_decided(bench: loom.Workbench, protected: loom.Agent) -> None:
    token = bench.identity.token(user="alice", scopes=["read"], expires_s=600)
    answer = protected.invoke(PROMPT, bearer=token)
    view = answer.authorization()
    assert (view.state, view.decision, view.method) == ("recorded", "allow", "jwt")
    issuer = bench.identity.discovery_url.partition("/.well-known")[0]
    assert (view.issuer, view.subject, view.client_id) == (issuer, "alice", "loom")
    assert view.scopes == ("read",)
    assert view.runs_as.endswith(":role/loom-local")
    assert view.expires_at is not None
    assert 0 < view.expires_at.timestamp() - time.time() <= 600
    assert view.table().to_dict("records") == [
        {"claim": "client_id", "allowed": "loom", "token has": "loom", "passed": "yes"}
    ]
    html = view._repr_html_()
    assert "alice" in html
    assert "client_id" in html
    # The same from stored data, in a workbench that did not make the call.
    again = bench.agent("protected").history.get(answer.record.id).authorization()
    assert again == view


def test_authorization_of_a_refused_call_names_the_claim(bench: loom.Workbench, protected: loom.Agent) -> None:
    view = protected.invoke(PROMPT, bearer=bench.identity.token(user="bob", client="phone")).authorization()
    assert (view.state, view.decision) == ("recorded", "deny")
    assert view.table().to_dict("records") == [
        {"claim": "client_id", "allowed": "loom", "token has": "phone", "passed": "no"}
    ]
    assert "Refused" in view.sentence()
    signed = protected.invoke(PROMPT).authorization()
    assert (signed.decision, "Authorization method mismatch" in signed.reason) == ("deny", True)


def test_authorization_of_a_signed_call_names_the_owner(calculator: loom.Agent) -> None:
    view = calculator.invoke(PROMPT).authorization()
    assert (view.state, view.decision, view.method) == ("signed", "allow", "sigv4")
    assert view.caller == "arn:aws:iam::123456789012:root"
    assert len(view.table()) == 0
    assert "signature (SigV4)" in view._repr_html_()


def test_an_authorizer_is_a_value(bench: loom.Workbench, echo_code: Path) -> None:
    authorizer = loom.JwtAuthorizer(
        discovery_url=bench.identity.discovery_url, audience=["api"], scopes=["read"], claims={"team": "red"}
    )
    agent = bench.deploy(echo_code, name="teams", authorizer=authorizer)
    assert agent.entry.raw_metadata["authorizerConfiguration"] == authorizer.configuration()
    options: dict[str, Any] = {"audience": ["api"], "scopes": ["read", "write"]}
    assert agent.invoke(PROMPT, bearer=bench.identity.token("alice", claims={"team": "red"}, **options)).ok
    assert not agent.invoke(PROMPT, bearer=bench.identity.token("alice", claims={"team": "blue"}, **options)).ok


def test_an_authorizer_without_rules_is_refused_at_once() -> None:
    with pytest.raises(ValueError, match="at least one of audience"):
        loom.JwtAuthorizer(discovery_url="https://example.com/.well-known/openid-configuration")
    with pytest.raises(TypeError, match="clients must be a list"):
        loom.JwtAuthorizer(discovery_url="https://example.com/.well-known/openid-configuration", clients="web")


def test_the_issuer_refuses_what_cannot_be_a_token(bench: loom.Workbench) -> None:
    with pytest.raises(LocalServiceError, match="between 1 and"):
        bench.identity.token("alice", expires_s=10**9)
    with pytest.raises(LocalServiceError, match="sub"):
        bench.identity.token("alice", claims={"sub": "mallory"})
    with pytest.raises(LocalServiceError, match="needs a user"):
        bench.identity.token("")


def test_the_issuers_keys_are_readable_by_their_owner_only(bench: loom.Workbench, home: Path) -> None:
    bench.identity.token("alice")
    file = home / "identity" / "issuer-keys.json"
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert stat.S_IMODE(file.parent.stat().st_mode) == 0o700


def test_the_command_line_takes_a_token_from_variables_files_and_input(
    protected: loom.Agent, echo_code: Path, home: Path, loom_command: Any, tmp_path: Path
) -> None:
    variables = {**os.environ, "LOOM_HOME": str(home)}
    result = loom_command.run("identity", "token", "--user", "alice", "--scope", "read", environment=variables)
    token = result.stdout.strip()
    assert (result.returncode, token.count(".")) == (0, 2)
    (tmp_path / "token").write_text(token + "\n")
    for source in ("LOOM_BEARER", f"@{tmp_path / 'token'}"):
        ran = loom_command.run(
            "invoke", "--bearer", source, "protected", PROMPT, environment={**variables, "LOOM_BEARER": token}
        )
        assert (ran.returncode, "4" in ran.stdout) == (0, True), ran.stderr
        assert token not in ran.stdout + ran.stderr
    assert loom_command.run("invoke", "protected", PROMPT, environment=variables).returncode == 1
    for source in (token, "NO_SUCH_VARIABLE", "@/no/such/file"):
        refused = loom_command.run("invoke", "--bearer", source, "protected", PROMPT, environment=variables)
        assert (refused.returncode, token in refused.stderr) == (2, False), refused.stderr
    address = loom_command.run("identity", "issuer", environment=variables).stdout.strip()
    deployed = loom_command.run(
        "deploy", str(echo_code), "--name", "of_url", "--authorizer", address, "--allow-client", "loom",
        environment=variables,
    )  # fmt: skip
    assert deployed.returncode == 0, deployed.stderr
    assert loom_command.run("deploy", "calculator", "--authorizer", address, environment=variables).returncode == 2


FETCHING_AGENT = """
import boto3
from bedrock_agentcore import BedrockAgentCoreApp
from bedrock_agentcore.identity.auth import requires_api_key

app = BedrockAgentCoreApp()

@app.entrypoint
async def answer(payload, context):
    @requires_api_key(provider_name="search-engine")
    def search(*, api_key):
        return len(api_key)

    return {"length": search()}

app.run()
"""


def test_authorization_shows_which_credentials_the_agent_fetched(bench: loom.Workbench, tmp_path: Path) -> None:
    secret = "a key that nobody sees"
    bench.clients.control().create_api_key_credential_provider(name="search-engine", apiKey=secret)
    (tmp_path / "agent.py").write_text(FETCHING_AGENT)
    agent = bench.deploy(tmp_path / "agent.py", name="fetching", authorizer="local")
    answer = agent.invoke(PROMPT, bearer=bench.identity.token("alice"))
    assert str(len(secret)) in answer.text, answer.error
    view = wait_until(lambda: (view := answer.authorization()).outbound and view, what="the agent's request")
    assert [(use.operation, use.provider, use.error) for use in view.outbound] == [
        ("GetResourceApiKey", "search-engine", "")
    ]
    assert "search-engine" in view._repr_html_()
    assert secret not in view._repr_html_() + str(view.to_dict())


def test_an_agent_cannot_have_a_users_token(
    bench: loom.Workbench, protected: loom.Agent, echo_code: Path, tmp_path: Path
) -> None:
    """A session may have web identity tokens of its own role; they are another issuer's."""
    (tmp_path / "agent.py").write_text(
        """
import boto3
from bedrock_agentcore import BedrockAgentCoreApp

app = BedrockAgentCoreApp()

@app.entrypoint
def answer(payload, context):
    made = boto3.client("sts").get_web_identity_token(Audience=["api"], SigningAlgorithm="RS256")
    return made["WebIdentityToken"]

app.run()
"""
    )
    token = bench.deploy(tmp_path / "agent.py", name="asking_sts").invoke(PROMPT).raise_for_status().text.strip('"')
    authorizer = loom.JwtAuthorizer(discovery_url=bench.identity.discovery_url, audience=["api"])
    target = bench.deploy(echo_code, name="by_audience", authorizer=authorizer)
    assert target.invoke(PROMPT, bearer=bench.identity.token("alice", audience=["api"])).ok
    refused = target.invoke(PROMPT, bearer=token)
    assert (refused.ok, "not one of its issuer's" in (refused.error or "")) == (False, True), refused.error


def test_an_agent_keeps_a_token_for_evaluations_and_studies(bench: loom.Workbench, protected: loom.Agent) -> None:
    requests: list[str] = []

    def token() -> str:
        requests.append("a token")
        return bench.identity.token("alice")

    agent = protected.at(bearer=token)
    assert agent.invoke(PROMPT).ok
    assert agent.at("DEFAULT").invoke(PROMPT).ok
    assert agent.end_session(agent.invoke(PROMPT).session_id)
    assert len(requests) == 4
    turn = Turn(prompt=PROMPT, expected_answer="4")
    run = agent.evaluate(loom.EvalSet(name="sums", cases=(loom.EvalCase(id="sum", turns=(turn,)),)), ["contains"])
    assert run.scores()["state"].tolist() == ["scored"], run.failures().to_dict("records")
    study = loom.LatencyStudy(agent, cold=1, warm=1, sticky=1).run(Silent())
    assert {call.state for call in study.calls} == {"done"}
    assert protected.at(bearer=bench.identity.token("alice", client="phone")).invoke(PROMPT).failure == "rejected"
