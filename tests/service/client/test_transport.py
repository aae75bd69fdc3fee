"""The road to the endpoint: TLS with a private authority, proxies, and what must never be in the way."""

from __future__ import annotations

import json
import ssl
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from paced import PacedServer, Reply, Request, Script, paced_server

from loomlib.agents import AgentEntry, Invoker
from loomlib.aws.connection import Clients, Connection
from loomlib.aws.engine import Engine
from loomlib.store import Store

Serve = Callable[[Script], PacedServer]
InvokerFor = Callable[..., Invoker]


async def echo(request: Request, reply: Reply) -> None:
    await reply.whole(json.dumps({"result": json.loads(request.body)["prompt"]}).encode())


def self_signed(folder: Path) -> Path:
    """A certificate of 127.0.0.1, and its key, in one PEM file."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "127.0.0.1")])
    now = datetime.now(UTC)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(1)
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.IPAddress(ip_address("127.0.0.1"))]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    file = folder / "pair.pem"
    file.write_bytes(
        key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
        + certificate.public_bytes(serialization.Encoding.PEM)
    )
    return file


def test_tls_trusts_the_authorities_that_aws_tools_trust_and_no_others(
    agent: AgentEntry, store: Store, engine: Engine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pair = self_signed(tmp_path)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(pair)
    with paced_server(echo, context) as server:
        connection = Connection(region="us-east-1", environment=server.environment())
        stranger = Invoker(store, Clients(connection), engine)
        refused = stranger.invoke(agent, "hello")
        monkeypatch.setenv("AWS_CA_BUNDLE", str(pair))
        friend = Invoker(store, Clients(connection), engine)
        trusted = friend.invoke(agent, "hello")
        again = friend.invoke(agent, "hello")
    stranger.close()
    friend.close()
    assert refused.failure == "transport"
    assert refused.error_message is not None
    assert "certificate" in refused.error_message.lower()
    assert trusted.response == "hello"
    assert trusted.connect_ms is not None
    assert trusted.ttft_ms is not None
    assert 0 < trusted.connect_ms < trusted.ttft_ms
    assert (again.connection_reused, again.connect_ms) == (True, 0)


def test_a_proxy_is_used_for_the_world_and_never_for_loopback(
    serve: Serve,
    invoker_for: InvokerFor,
    agent: AgentEntry,
    store: Store,
    engine: Engine,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    proxy, local = serve(echo), serve(echo)
    for name in ("no_proxy", "NO_PROXY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("http_proxy", proxy.url)
    monkeypatch.setenv("HTTP_PROXY", proxy.url)
    assert invoker_for(local).invoke(agent, "near").response == "near"
    assert len(proxy.requests) == 0
    environment = {**local.environment(), "AWS_ENDPOINT_URL": "http://agentcore.invalid"}
    invoker = Invoker(store, Clients(Connection(region="us-east-1", environment=environment)), engine)
    assert invoker.invoke(agent, "far").response == "far"
    invoker.close()
    assert proxy.requests[0].path.startswith("http://agentcore.invalid/runtimes/")


def test_a_netrc_file_and_cookies_stay_out_of_a_signed_request(
    serve: Serve, invoker_for: InvokerFor, agent: AgentEntry, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def with_cookie(request: Request, reply: Reply) -> None:
        await reply.whole(b'"fine"', Set_Cookie="a=b; Path=/")

    netrc = tmp_path / "netrc"
    netrc.write_text("machine 127.0.0.1 login somebody password secret\n", "utf-8")
    monkeypatch.setenv("NETRC", str(netrc))
    server = serve(with_cookie)
    invoker = invoker_for(server)
    assert invoker.invoke(agent, "1").ok
    assert invoker.invoke(agent, "2").ok
    for request in server.requests:
        assert request.headers["authorization"].startswith("AWS4-HMAC-SHA256 ")
        assert "cookie" not in request.headers
        assert request.headers["accept-encoding"] == "identity"


def test_a_redirect_is_not_followed(serve: Serve, invoker_for: InvokerFor, agent: AgentEntry) -> None:
    async def elsewhere(request: Request, reply: Reply) -> None:
        await reply.whole(b"", 307, "text/plain", Location="http://127.0.0.1:9/")

    server = serve(elsewhere)
    record = invoker_for(server).invoke(agent, "?")
    assert (record.failure, len(server.requests)) == ("rejected", 1)


def test_an_engine_that_is_closed_in_mid_answer_leaves_a_finished_record(
    agent: AgentEntry, store: Store, serve: Serve
) -> None:
    async def endless(request: Request, reply: Reply) -> None:
        await reply.head()
        while True:
            await reply.chunk(b'data: "x"\n\n')

    server = serve(endless)
    engine = Engine()
    invoker = Invoker(store, Clients(Connection(region="us-east-1", environment=server.environment())), engine)
    stream = invoker.stream(agent, "?")
    next(stream)
    engine.close()
    engine.close()
    invoker.close()
    row = store.invocations.list()[0]
    assert (row.status, row.failure) == ("error", "cancelled")
    with pytest.raises(RuntimeError, match="closed"):
        invoker.invoke(agent, "?")
