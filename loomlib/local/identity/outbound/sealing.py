"""Encryption of secrets at rest: AES-256-GCM with a key of the home folder that only its user can read."""

from __future__ import annotations

import base64
import json
import os
import secrets
from pathlib import Path
from typing import Any, Final, cast

KEY_FILE: Final = "identity.key"
_KEY_BYTES: Final = 32
_NONCE_BYTES: Final = 12  # NIST SP 800-38D: 96 bits


class SealError(Exception):
    """A sealed text is not one of this home's, or it was sealed for another purpose."""


class Sealer:
    """Seals JSON values with the home's key, which is made on first use.

    A purpose is bound to what is sealed: a text that was sealed for one purpose opens for no other.

    Args:
        home: The home folder.
    """

    def __init__(self, home: Path) -> None:
        self._file = home / KEY_FILE
        self._cipher: Any = None

    def seal(self, value: Any, purpose: str) -> str:
        """Return a value encrypted, as URL-safe text."""
        nonce = secrets.token_bytes(_NONCE_BYTES)
        sealed = self._opened().encrypt(nonce, json.dumps(value).encode(), purpose.encode())
        return base64.urlsafe_b64encode(nonce + sealed).decode().rstrip("=")

    def open(self, text: str, purpose: str) -> Any:
        """Return a sealed value.

        Raises:
            SealError: The text was changed, or sealed with another key or for another purpose.
        """
        from cryptography.exceptions import InvalidTag

        try:
            raw = base64.b64decode(text + "=" * (-len(text) % 4), altchars=b"-_", validate=True)
            plain = self._opened().decrypt(raw[:_NONCE_BYTES], raw[_NONCE_BYTES:], purpose.encode())
        except (ValueError, InvalidTag) as error:
            raise SealError(f"Not sealed here as {purpose}") from error
        return json.loads(plain)

    def _opened(self) -> Any:
        if self._cipher is None:
            from cryptography.hazmat.primitives.ciphers.aead import AESGCM  # 30 ms that few services need

            self._cipher = AESGCM(_key(self._file))
        return self._cipher


def _key(file: Path) -> bytes:
    """Return the key of a file, which is made with a new key if it does not exist.

    Raises:
        SealError: The file does not hold a key.
    """
    try:
        descriptor = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        key = file.read_bytes()
        if len(key) != _KEY_BYTES:
            raise SealError(f"{file.name} does not hold a key of {_KEY_BYTES} bytes") from None
        file.chmod(0o600)
        return key
    with os.fdopen(descriptor, "wb") as stream:
        key = secrets.token_bytes(_KEY_BYTES)
        stream.write(key)
        stream.flush()
        os.fsync(stream.fileno())
    return key


def opened_object(sealer: Sealer, text: str, purpose: str) -> dict[str, Any]:
    """Return a sealed JSON object.

    Raises:
        SealError: The text does not open, or holds something else.
    """
    value = sealer.open(text, purpose)
    if not isinstance(value, dict):
        raise SealError(f"Not an object: {purpose}")
    return cast("dict[str, Any]", value)
