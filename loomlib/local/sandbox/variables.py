"""The environment variables of the local AgentCore's processes: allow-lists, so that the user's secrets stay out.

The service needs none of the user's secrets. It starts with an allow-list, because every process of the same user can
read `/proc/<pid>/environ`; its own child processes inherit only these variables.
"""

from __future__ import annotations

import configparser
import contextlib
import os
import re
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

FOR_AGENTS = frozenset(
    {"PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "LANGUAGE", "TMPDIR", "TEMP", "TMP"}
    | {"LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH", "SSL_CERT_FILE", "SSL_CERT_DIR"}
)
"""The user's variables that sessions get, with all that begin with `LC_`."""

_FOR_THE_SERVICE = FOR_AGENTS | {
    *("AWS_REGION", "AWS_DEFAULT_REGION", "TZ", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE", "VIRTUAL_ENV"),
    *("LOOM_HOME", "LOOM_KEPT_SNAPSHOTS", "LOOM_MEMORY_DELAY_S", "LOOM_MODEL_NAME", "LOOM_SKIP_PLUGINS"),
    *("PYTHONPATH", "PYTHONHASHSEED", "PYTHONIOENCODING", "PYTHONUTF8", "PYTHONWARNINGS", "PYTHONPYCACHEPREFIX"),
    *("COVERAGE_PROCESS_START", "COVERAGE_FILE", "COVERAGE_PROCESS_CONFIG"),
}
_PROXIES = frozenset({"HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY"})
_CERTIFICATES = frozenset({"SSL_CERT_FILE", "SSL_CERT_DIR", "REQUESTS_CA_BUNDLE"})

CERTIFICATE_FILES = frozenset({"SSL_CERT_FILE", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE"})
"""The variables that name files with certificates, of those that reach the service."""

EXPORTED_PROXY = "LOOM_AWS_PROXY"
"""The variable that records which proxy `loom up --export` set."""

EXPORTED_FOLDER = "aws-names"
"""The folder of a home with the certificates that `loom up --export` names."""

MODEL_PREFIX = "LOOM_MODEL_"
"""Settings of a real model, including its key: the service receives them on standard input, for its model only."""

_PIP_SETTINGS = frozenset(
    {"index-url", "extra-index-url", "find-links", "no-index", "trusted-host", "cert", "proxy", "constraint"}
    | {"default-timeout", "timeout", "retries", "prefer-binary", "only-binary", "no-binary"}
)
_USER_INFO = re.compile(r"(?<=//)[^/\s]*@")
_PROXY_USER_INFO = re.compile(r"(?<![^/\s])[^/\s]*@")
"""Matches the credentials of a proxy, also without a scheme, such as `user:password@proxy.example.com:3128`."""


def service_environment(user: Mapping[str, str]) -> dict[str, str]:
    """Return the variables with which the service starts.

    pip's settings are among them, from the user's files and variables, without the credentials of their addresses. A
    proxy and certificates that `loom up --export` set are left out: they belong to another service, which may have
    stopped, and each export rewrites the certificate file, so a snapshot that uses it could not be restored.

    Args:
        user: The user's variables.
    """
    names = {name for name in user if name in _FOR_THE_SERVICE or name.startswith("LC_")}
    names -= {name for name in CERTIFICATE_FILES if Path(user.get(name, "")).parent.name == EXPORTED_FOLDER}
    proxies = {
        name: _without_credentials(value, _PROXY_USER_INFO)
        for name, value in user.items()
        if name.upper() in _PROXIES and value != user.get(EXPORTED_PROXY)
    }
    return {name: user[name] for name in names} | proxies | _pip_variables(user)


def model_settings(user: Mapping[str, str]) -> dict[str, str]:
    """Return the settings of a real model among the user's variables."""
    return {name: value for name, value in user.items() if name.startswith(MODEL_PREFIX)}


def installer_environment(service: Mapping[str, str], scratch: Path) -> dict[str, str]:
    """Return the variables of a process that installs or builds packages.

    Args:
        service: The service's own variables.
        scratch: A folder for temporary files.
    """
    inherited_names = {"PATH", "LANG", "LANGUAGE", "LD_LIBRARY_PATH"} | _CERTIFICATES
    environment = {name: value for name, value in service.items() if name in inherited_names or name.startswith("LC_")}
    proxies = {name: value for name, value in service.items() if name.upper() in _PROXIES}
    environment |= {name: _without_credentials(value, _PROXY_USER_INFO) for name, value in proxies.items()}
    # Filtered again, because the service has the user's variables if it was not started through `start`.
    environment |= _pip_variables({name: value for name, value in service.items() if name.startswith("PIP_")})
    environment |= dict.fromkeys(("AWS_CONFIG_FILE", "AWS_SHARED_CREDENTIALS_FILE", "NETRC"), os.devnull)
    # A build that is not trusted must not leave anything for the next one, so there is no cache.
    return environment | {
        "PIP_NO_CACHE_DIR": "1",
        "PIP_DISABLE_PIP_VERSION_CHECK": "1",
        "HOME": str(scratch),
        "TMPDIR": str(scratch),
    }


def named_paths(environment: Mapping[str, str]) -> Iterator[Path]:
    """Yield the local files and folders that pip's variables and the certificate variables refer to."""
    for name, value in environment.items():
        if name in _CERTIFICATES or (name.startswith("PIP_") and name != "PIP_CONFIG_FILE"):
            for word in value.split():
                path = Path(word.removeprefix("file://"))
                if path.is_absolute() and path.exists():
                    yield path
                    if path.name == "simple":
                        yield from _beside_index(path)


def _beside_index(index: Path) -> Iterator[Path]:
    """Yield the folders of wheels beside an index in a folder, to which its pages link as `../../files/…`."""
    with contextlib.suppress(OSError):
        yield from (folder for folder in index.parent.iterdir() if folder != index and any(folder.glob("*.whl")))


def _pip_variables(user: Mapping[str, str]) -> dict[str, str]:
    """Return pip's settings as variables, and none of its files: those may have credentials."""
    settings: dict[str, str] = {}
    if user.get("PIP_CONFIG_FILE") != os.devnull:
        for file in _pip_files(user):
            parser = configparser.RawConfigParser()
            try:
                parser.read(file, "utf-8")
            except (configparser.Error, UnicodeError):
                continue  # pip itself reports a broken file when the user runs it
            for section in ("global", "install"):
                if parser.has_section(section):
                    settings |= {name.replace("_", "-"): value for name, value in parser.items(section)}
    for name, value in user.items():
        if name.startswith("PIP_"):
            settings[name.removeprefix("PIP_").lower().replace("_", "-")] = value
    variables = {
        "PIP_" + name.upper().replace("-", "_"): _without_credentials(
            " ".join(value.split()), _PROXY_USER_INFO if name == "proxy" else _USER_INFO
        )
        for name, value in settings.items()
        if name in _PIP_SETTINGS
    }
    return variables | {"PIP_CONFIG_FILE": os.devnull}


def _pip_files(user: Mapping[str, str]) -> list[Path]:
    """Return the files that pip reads, in its order (pip's documentation, "Configuration")."""
    home = Path(user.get("HOME") or "/nonexistent")
    own = Path(user.get("XDG_CONFIG_HOME") or home / ".config")
    files = [Path(folder) / "pip/pip.conf" for folder in (user.get("XDG_CONFIG_DIRS") or "/etc/xdg").split(":")]
    files += [Path("/etc/pip.conf"), home / ".pip/pip.conf", own / "pip/pip.conf", Path(sys.prefix) / "pip.conf"]
    if sys.platform == "darwin":
        files.append(home / "Library/Application Support/pip/pip.conf")
    if user.get("PIP_CONFIG_FILE"):
        files.append(Path(user["PIP_CONFIG_FILE"]))
    return files


def _without_credentials(text: str, user_info: re.Pattern[str]) -> str:
    return user_info.sub("", text)
