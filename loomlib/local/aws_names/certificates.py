"""A certificate authority of one home folder, which can vouch for AWS's domains only."""

from __future__ import annotations

import fcntl
import os
import ssl
import tempfile
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Final

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from ..private_files import write_private
from ..sandbox.variables import EXPORTED_FOLDER
from .hosts import DOMAINS

_LIFE: Final = timedelta(days=365)
_RENEWED_BEFORE: Final = timedelta(days=30)
_MOST_CONTEXTS: Final = 64


def folder(home: Path) -> Path:
    """Return the folder with the authority of a home folder."""
    return home / EXPORTED_FOLDER


class Authority:
    """The authority of a home folder, made when it is first needed.

    Args:
        home: The home folder.
    """

    def __init__(self, home: Path) -> None:
        self._file = folder(home) / "authority.pem"
        self._contexts: dict[str, ssl.SSLContext] = {}
        self._key, self.certificate = self._read() or self._made()

    @property
    def pem(self) -> bytes:
        """The certificate that clients have to trust."""
        return self.certificate.public_bytes(serialization.Encoding.PEM)

    def context(self, host: str) -> ssl.SSLContext:
        """Return what a server needs to speak TLS under a host name."""
        if host not in self._contexts:
            if len(self._contexts) >= _MOST_CONTEXTS:
                self._contexts.clear()
            self._contexts[host] = self._new_context(host)
        return self._contexts[host]

    def _read(self) -> tuple[ec.EllipticCurvePrivateKey, x509.Certificate] | None:
        try:
            content = self._file.read_bytes()
            key = serialization.load_pem_private_key(content, None)
            certificate = x509.load_pem_x509_certificate(content)
        except (OSError, ValueError):
            return None
        lasts = certificate.not_valid_after_utc - _RENEWED_BEFORE > datetime.now(UTC)
        return (key, certificate) if lasts and isinstance(key, ec.EllipticCurvePrivateKey) else None

    def _made(self) -> tuple[ec.EllipticCurvePrivateKey, x509.Certificate]:
        """Return the authority that this or another thread or process makes first."""
        self._file.parent.mkdir(mode=0o700, exist_ok=True)
        lock = os.open(self._file.with_suffix(".lock"), os.O_RDWR | os.O_CREAT, 0o600)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX)
            return self._read() or self._make()
        finally:
            os.close(lock)

    def _make(self) -> tuple[ec.EllipticCurvePrivateKey, x509.Certificate]:
        key = ec.generate_private_key(ec.SECP256R1())
        name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "Loom local AgentCore")])
        certificate = (
            _builder(name, name, key.public_key(), key.public_key())
            .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
            .add_extension(_usage(signs=True), critical=True)
            .add_extension(x509.NameConstraints([x509.DNSName(domain) for domain in DOMAINS], None), critical=True)
            .sign(key, hashes.SHA256())
        )
        write_private(self._file, _pem(key) + certificate.public_bytes(serialization.Encoding.PEM))
        return key, certificate

    def _new_context(self, host: str) -> ssl.SSLContext:
        key = ec.generate_private_key(ec.SECP256R1())
        subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "AWS, answered by Loom")])
        certificate = (
            _builder(subject, self.certificate.subject, key.public_key(), self._key.public_key())
            .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
            .add_extension(_usage(signs=False), critical=True)
            .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), critical=False)
            .add_extension(x509.SubjectAlternativeName([x509.DNSName(host)]), critical=False)
            .sign(self._key, hashes.SHA256())
        )
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.minimum_version = ssl.TLSVersion.TLSv1_2
        context.set_alpn_protocols(["http/1.1"])
        with tempfile.NamedTemporaryFile(dir=self._file.parent) as file:  # the module `ssl` reads files only
            file.write(_pem(key) + certificate.public_bytes(serialization.Encoding.PEM))
            file.flush()
            context.load_cert_chain(file.name)
        return context


def trust(home: Path, also: tuple[Path, ...] = (), *, name: str = "trusted.pem") -> Path:
    """Write a file with the certificates that this machine trusts and the authority's, and return it.

    Args:
        home: The home folder.
        also: Further files with certificates, such as the one that a variable already names.
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


def _builder(
    subject: x509.Name, issuer: x509.Name, public: ec.EllipticCurvePublicKey, of_issuer: ec.EllipticCurvePublicKey
) -> x509.CertificateBuilder:
    now = datetime.now(UTC)
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(public)
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + _LIFE)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(public), critical=False)
        .add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(of_issuer), critical=False)
    )


def _usage(*, signs: bool) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=not signs,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        key_cert_sign=signs,
        crl_sign=signs,
        encipher_only=False,
        decipher_only=False,
    )


def _pem(key: ec.EllipticCurvePrivateKey) -> bytes:
    return key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
