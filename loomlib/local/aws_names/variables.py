"""The environment variables of shells and sessions whose programs reach the service under AWS's own addresses."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Final

from ..sandbox.variables import CERTIFICATE_FILES, EXPORTED_FOLDER, EXPORTED_PROXY
from ..state import ServiceState

_SET: Final = ("HTTPS_PROXY", "https_proxy", "WSS_PROXY", "wss_proxy")
"""aiohttp looks up the proxy of a WebSocket by the WebSocket's own scheme."""
_PROXIES: Final = (*_SET, "ALL_PROXY", "all_proxy")
_CERTIFICATES: Final = ("SSL_CERT_FILE", "REQUESTS_CA_BUNDLE", "AWS_CA_BUNDLE", "CURL_CA_BUNDLE")
"""AWS's SDKs and curl prefer their own variable to the others if a shell or AWS's configuration sets it."""
_LOCAL: Final = ("127.0.0.1", "localhost")
NODE_HOOK: Final = Path(__file__).with_name("websockets.cjs")
"""The module that Node.js programs load first: it routes their WebSockets to the service."""
_AWS_NAMES: Final = {
    "BEDROCK_AGENTCORE_CP_ENDPOINT": "https://bedrock-agentcore-control.{region}.amazonaws.com",
    "BEDROCK_AGENTCORE_DP_ENDPOINT": "https://bedrock-agentcore.{region}.amazonaws.com",
}
"""AgentCore's SDK accepts only AWS's hosts in these variables; the proxy answers for them."""


def shell_environment(state: ServiceState, user: Mapping[str, str]) -> dict[str, str]:
    """Return the variables to set in a user's shell.

    Args:
        state: The service.
        user: The present variables of the shell. If they name a proxy, it is kept, and AWS's addresses do not lead to
            this service.
    """
    variables = state.environment()
    url = f"http://127.0.0.1:{state.aws_names_port}"
    foreign = [name for name in _PROXIES if user.get(name, "") not in ("", user.get(EXPORTED_PROXY))]
    if not state.aws_names_port or foreign:
        return variables
    from .certificates import folder, trust  # cryptography, which only this needs, takes 60 ms

    certificate_files = {Path(user[name]) for name in _CERTIFICATES if user.get(name)}
    extra_certificates = sorted(path for path in certificate_files if path.parent.name != folder(state.home).name)
    hosts = [host.strip() for host in (user.get("NO_PROXY") or user.get("no_proxy") or "").split(",") if host.strip()]
    no_proxy = ",".join(dict.fromkeys((*hosts, *_LOCAL)))
    variables |= {name: address.format(region=state.region) for name, address in _AWS_NAMES.items()}
    variables |= dict.fromkeys((EXPORTED_PROXY, *_SET), url) | {"NO_PROXY": no_proxy, "no_proxy": no_proxy}
    variables |= dict.fromkeys(_CERTIFICATES, str(trust(state.home, tuple(extra_certificates))))
    variables["NODE_OPTIONS"] = node_options(user.get("NODE_OPTIONS", ""))
    return variables


def node_options(former: str = "") -> str:
    """Return the options of Node.js programs whose WebSockets to AWS's addresses reach the service.

    Args:
        former: The options that are already set.
    """
    own = f'--require="{NODE_HOOK}"'
    return " ".join(filter(None, (former.replace(own, "").strip(), own)))


def session_certificates(home: Path) -> Path:
    """Return the file with the certificates that sessions trust."""
    return home.absolute() / EXPORTED_FOLDER / "sessions.pem"


def session_variables(home: Path, region: str, proxy: str, user: Mapping[str, str]) -> dict[str, str]:
    """Return the variables with which agents in sessions reach the service under AWS's own addresses.

    Args:
        home: The home folder.
        region: The service's region.
        proxy: The address at which a session reaches the proxy.
        user: The service's own variables, which may name certificates.
    """
    from .certificates import trust

    also = tuple(sorted({Path(user[name]) for name in CERTIFICATE_FILES if user.get(name)}))
    return {
        **{name: address.format(region=region) for name, address in _AWS_NAMES.items()},
        **dict.fromkeys(_SET, proxy),
        **dict.fromkeys(("NO_PROXY", "no_proxy"), ",".join(_LOCAL)),
        **dict.fromkeys(_CERTIFICATES, str(trust(home.absolute(), also, name=session_certificates(home).name))),
        "NODE_OPTIONS": node_options(),
    }
