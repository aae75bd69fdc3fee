"""The certificate authority of one home folder, which can issue certificates for AWS's domains only."""

from __future__ import annotations

import fcntl
import os
import ssl
import tempfile
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Final

from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import load_pem_private_key

from loomlib.certificates import certificate_pem, key_pem, make_authority, make_server_certificate, new_key

from ..private_files import write_private
from ..sandbox.variables import EXPORTED_FOLDER
from .hosts import DOMAINS

_RENEWED_BEFORE: Final = timedelta(days=30)
_MOST_CONTEXTS: Final = 64


def folder(home: Path) -> Path:
    """Return the folder with the authority of a home folder."""
    return home / EXPORTED_FOLDER


class Authority:
    """The authority of a home folder, created when it is first needed.

    Args:
        home: The home folder.
    """

    def __init__(self, home: Path) -> None:
        self._file = folder(home) / "authority.pem"
        self._contexts: dict[str, ssl.SSLContext] = {}
        self._key, self.certificate = self._read() or self._load_or_create()

    @property
    def pem(self) -> bytes:
        """The certificate that clients have to trust."""
        return certificate_pem(self.certificate)

    def context(self, host: str) -> ssl.SSLContext:
        """Return the TLS context of a server with a host name."""
        if host not in self._contexts:
            if len(self._contexts) >= _MOST_CONTEXTS:
                self._contexts.clear()
            self._contexts[host] = self._new_context(host)
        return self._contexts[host]

    def _read(self) -> tuple[ec.EllipticCurvePrivateKey, x509.Certificate] | None:
        try:
            content = self._file.read_bytes()
            key = load_pem_private_key(content, None)
            certificate = x509.load_pem_x509_certificate(content)
        except (OSError, ValueError):
            return None
        lasts = certificate.not_valid_after_utc - _RENEWED_BEFORE > datetime.now(UTC)
        return (key, certificate) if lasts and isinstance(key, ec.EllipticCurvePrivateKey) else None

    def _load_or_create(self) -> tuple[ec.EllipticCurvePrivateKey, x509.Certificate]:
        """Return the authority; if several threads or processes create one, the first wins."""
        self._file.parent.mkdir(mode=0o700, exist_ok=True)
        lock = os.open(self._file.with_suffix(".lock"), os.O_RDWR | os.O_CREAT, 0o600)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX)
            return self._read() or self._make()
        finally:
            os.close(lock)

    def _make(self) -> tuple[ec.EllipticCurvePrivateKey, x509.Certificate]:
        key = new_key()
        certificate = make_authority("Loom local AgentCore", key, [x509.DNSName(domain) for domain in DOMAINS])
        write_private(self._file, key_pem(key) + certificate_pem(certificate))
        return key, certificate

    def _new_context(self, host: str) -> ssl.SSLContext:
        key = new_key()
        certificate = make_server_certificate(
            "AWS, answered by Loom", key, [x509.DNSName(host)], authority=self.certificate, signer=self._key
        )
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.minimum_version = ssl.TLSVersion.TLSv1_2
        context.set_alpn_protocols(["http/1.1"])
        with tempfile.NamedTemporaryFile(dir=self._file.parent) as file:  # the module `ssl` reads files only
            file.write(key_pem(key) + certificate_pem(certificate))
            file.flush()
            context.load_cert_chain(file.name)
        return context


def trust(home: Path, also: tuple[Path, ...] = (), *, name: str = "trusted.pem") -> Path:
    """Write a file with the certificates that this machine trusts and the authority's, and return it.

    Args:
        home: The home folder.
        also: Further files with certificates, such as one that an environment variable already names.
        name: The file's name.
    """
    # The module `ssl` has OpenSSL's defaults, and certifi is what httpx and requests trust otherwise.
    paths = ssl.get_default_verify_paths()
    files = [paths.openssl_cafile, *map(str, also)]
    try:
        import certifi
    except ImportError:
        pass
    else:
        files.append(certifi.where())
    parts = [content for path in dict.fromkeys(files) if (content := _content(path))]
    file, content = folder(home) / name, b"\n".join([Authority(home).pem, *dict.fromkeys(parts)])
    if _content(str(file)) != content:
        write_private(file, content)
    return file


def _content(name: str) -> bytes:
    try:
        return Path(name).read_bytes()
    except OSError:
        return b""
