"""Encryption of secrets at rest: AES-256-GCM with a key of the home folder that only its user can read."""

from __future__ import annotations

import base64
import json
import secrets
import threading
from pathlib import Path
from typing import Any, Final, cast

from ....recovery import set_aside
from ...private_files import write_private

KEY_FILE: Final = "identity.key"
_KEY_BYTES: Final = 32
_NONCE_BYTES: Final = 12  # NIST SP 800-38D: 96 bits


class SealError(Exception):
    """A sealed text does not belong to this home, or was sealed for another purpose."""


class Sealer:
    """Seals JSON values with the home's key, which is created on first use.

    A sealed text is bound to its purpose: it cannot be opened for another one.

    Args:
        home: The home folder.
    """

    def __init__(self, home: Path) -> None:
        self._file = home / KEY_FILE
        self._cipher: Any = None
        self._opening = threading.Lock()

    def seal(self, value: Any, purpose: str) -> str:
        """Encrypt a value and return it as URL-safe text."""
        nonce = secrets.token_bytes(_NONCE_BYTES)
        sealed = self._opened().encrypt(nonce, json.dumps(value).encode(), purpose.encode())
        return base64.urlsafe_b64encode(nonce + sealed).decode().rstrip("=")

    def open(self, text: str, purpose: str) -> Any:
        """Decrypt a sealed value.

        Raises:
            SealError: The text was changed, or sealed with another key or for another purpose.
        """
        from cryptography.exceptions import InvalidTag

        try:
            raw = base64.b64decode(text + "=" * (-len(text) % 4), altchars=b"-_", validate=True)
            plain = self._opened().decrypt(raw[:_NONCE_BYTES], raw[_NONCE_BYTES:], purpose.encode())
        except (ValueError, InvalidTag) as error:
            raise SealError(f"Not encrypted here as {purpose}") from error
        return json.loads(plain)

    def _opened(self) -> Any:
        with self._opening:  # another thread must not mistake a half-written key for a damaged one
            if self._cipher is None:
                from cryptography.hazmat.primitives.ciphers.aead import (
                    AESGCM,
                )  # imported here: it takes 30 ms, and few services need it

                self._cipher = AESGCM(_key(self._file))
            return self._cipher


def _key(file: Path) -> bytes:
    """Return the key of a file; create the file if it does not exist, and set a damaged one aside."""
    try:
        key = file.read_bytes()
    except FileNotFoundError:
        pass
    else:
        if len(key) == _KEY_BYTES:
            file.chmod(0o600)
            return key
        set_aside(
            file,
            f"it contains {len(key)} bytes instead of {_KEY_BYTES}; data that it encrypted can no longer be decrypted",
        )
    key = secrets.token_bytes(_KEY_BYTES)
    write_private(file, key)
    return key


def opened_object(sealer: Sealer, text: str, purpose: str) -> dict[str, Any]:
    """Decrypt a sealed JSON object.

    Args:
        sealer: Decrypts the text.
        text: The encrypted text.
        purpose: The purpose for which it was encrypted.

    Raises:
        SealError: The text cannot be decrypted, or is not a JSON object.
    """
    value = sealer.open(text, purpose)
    if not isinstance(value, dict):
        raise SealError(f"Not an object: {purpose}")
    return cast("dict[str, Any]", value)
