"""X.509 certificates of authorities that may certify only a few names, and of their servers.

It needs the package `cryptography`, so it is imported where a certificate is created.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Final

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

LIFE: Final = timedelta(days=365)
"""How long a certificate is valid; browsers refuse those of more than 398 days from public authorities."""

_EARLIER: Final = timedelta(days=1)
"""How far in the past a certificate's validity begins, because the clocks of clients differ."""


def new_key() -> ec.EllipticCurvePrivateKey:
    """Return a new private key (P-256)."""
    return ec.generate_private_key(ec.SECP256R1())


def make_authority(
    name: str, key: ec.EllipticCurvePrivateKey, permitted: Sequence[x509.GeneralName]
) -> x509.Certificate:
    """Return the certificate of an authority, signed by its own key.

    Args:
        name: Its common name; X.509 allows 64 characters.
        key: Its key.
        permitted: The names and networks that it may certify.
    """
    subject = _common_name(name)
    return (
        _builder(subject, subject, key.public_key(), key.public_key())
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(_usage(signs=True), critical=True)
        .add_extension(x509.NameConstraints(permitted, None), critical=True)
        .sign(key, hashes.SHA256())
    )


def make_server_certificate(
    name: str,
    key: ec.EllipticCurvePrivateKey,
    hosts: Sequence[x509.GeneralName],
    *,
    authority: x509.Certificate,
    signer: ec.EllipticCurvePrivateKey,
) -> x509.Certificate:
    """Return the certificate of a server.

    Args:
        name: Its common name.
        key: Its key.
        hosts: The server's host names and addresses.
        authority: The certificate of the authority.
        signer: The key of the authority.
    """
    return (
        _builder(_common_name(name), authority.subject, key.public_key(), signer.public_key())
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(_usage(signs=False), critical=True)
        .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), critical=False)
        .add_extension(x509.SubjectAlternativeName(hosts), critical=False)
        .sign(signer, hashes.SHA256())
    )


def certificate_pem(certificate: x509.Certificate) -> bytes:
    """Return a certificate in PEM form."""
    return certificate.public_bytes(serialization.Encoding.PEM)


def key_pem(key: ec.EllipticCurvePrivateKey) -> bytes:
    """Return a private key in PEM form (PKCS #8), not encrypted."""
    return key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )


def _common_name(name: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])


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
        .not_valid_before(now - _EARLIER)
        .not_valid_after(now + LIFE)
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
