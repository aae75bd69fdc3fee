"""The hub's certificate: issued for one host by an authority of its own, whose key is discarded.

Browsers warn until they trust the authority. Since its key is not stored, and it may sign for this host only, trusting
it means trusting only this hub. A certificate of the organization's authority in the same two files replaces it.
"""

from __future__ import annotations

import ipaddress
import os
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

from ..errors import LoomError, MissingExtraError

if TYPE_CHECKING:
    from cryptography import x509


@dataclass(frozen=True, slots=True, kw_only=True)
class HubCertificate:
    """The files of a hub's certificate, its hosts, and the end of its validity."""

    certificate: Path
    key: Path
    authority: Path
    hosts: tuple[str, ...]
    valid_until: datetime


def make_certificate(folder: Path, host: str) -> HubCertificate:
    """Create a key and a certificate for a host, and the certificate of the authority that browsers may trust.

    Args:
        folder: The folder, created if it is missing. The key in it is readable by its owner only.
        host: The host's name or IP address; `localhost` is added.

    Raises:
        MissingExtraError: The package `cryptography` is not installed.
    """
    try:
        from cryptography import x509

        from ..certificates import certificate_pem, key_pem, make_authority, make_server_certificate, new_key
    except ImportError as error:
        raise _missing() from error
    names: list[x509.GeneralName] = []
    subtrees: list[x509.GeneralName] = []
    for name in dict.fromkeys((host, "localhost", "127.0.0.1")):
        try:
            address = ipaddress.ip_address(name)
        except ValueError:
            names.append(x509.DNSName(name))
            subtrees.append(x509.DNSName(name))
        else:
            names.append(x509.IPAddress(address))
            subtrees.append(x509.IPAddress(ipaddress.ip_network(address)))
    signer, key = new_key(), new_key()
    authority = make_authority(f"Loom hub {host}"[:64], signer, subtrees)
    certificate = make_server_certificate("Loom hub", key, names, authority=authority, signer=signer)
    folder.mkdir(parents=True, exist_ok=True)
    _write(folder / "key.pem", key_pem(key), 0o600)
    _write(folder / "certificate.pem", certificate_pem(certificate), 0o644)
    _write(folder / "authority.pem", certificate_pem(authority), 0o644)
    return read_certificate(folder)


def read_certificate(folder: Path) -> HubCertificate:
    """Read the certificate in a folder, which need not be Loom's own.

    Raises:
        LoomError: A file is missing or is not a certificate.
    """
    try:
        from cryptography import x509
    except ImportError as error:
        raise _missing() from error

    file = folder / "certificate.pem"
    try:
        certificate = x509.load_pem_x509_certificate(file.read_bytes())
        names = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    except (OSError, ValueError, x509.ExtensionNotFound) as error:
        raise LoomError(
            f"The hub's certificate cannot be read ({error})",
            on=str(file),
            try_="loom hub certificate creates a new one",
        ) from error
    hosts = (*names.get_values_for_type(x509.DNSName), *map(str, names.get_values_for_type(x509.IPAddress)))
    return HubCertificate(
        certificate=file,
        key=folder / "key.pem",
        authority=folder / "authority.pem",
        hosts=tuple(hosts),
        valid_until=certificate.not_valid_after_utc,
    )


def _missing() -> MissingExtraError:
    return MissingExtraError("Certificates need the package cryptography", try_="pip install 'loomlib[hub]'")


def _write(file: Path, content: bytes, mode: int) -> None:
    partial = file.with_suffix(f".{os.getpid()}")
    partial.unlink(missing_ok=True)
    with os.fdopen(os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode), "wb") as output:
        os.fchmod(output.fileno(), mode)
        output.write(content)
    partial.replace(file)
