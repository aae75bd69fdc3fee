"""The prompt cache: the state that the model computed for a prefix is stored and reused at cache points, as on Bedrock.

llama.cpp writes the state of a prefix into a file and reads it back in milliseconds. A request without cache points is
computed from its first token, regardless of earlier requests.
"""

from __future__ import annotations

import hashlib
import time
from array import array
from dataclasses import dataclass

from ..refusals import ModelRefusedError
from .prompt import Prompt
from .server import TinyServer
from .settings import TinySettings


@dataclass(frozen=True, slots=True, kw_only=True)
class CacheUse:
    """Cache use of one request: the numbers of tokens read from the cache and written to it."""

    read: int
    written: int


@dataclass(slots=True, kw_only=True)
class _Kept:
    file: str
    size: int
    lives_s: float
    expires: float
    generation: int


class PromptCache:
    """The cached prefixes, by a hash of their tokens.

    Args:
        server: Computes prefixes, writes and reads their states.
        settings: The limits of the cache.
    """

    def __init__(self, server: TinyServer, settings: TinySettings) -> None:
        self._server, self._settings = server, settings
        self._entries: dict[str, _Kept] = {}  # the most recently used one is last
        self._names = 0

    async def prepare(self, prompt: Prompt, slot: int) -> CacheUse | None:
        """Load the longest cached prefix into a slot, and cache the prefixes that are not cached yet.

        Returns:
            The tokens read and written, or None if the request has no cache points.
        """
        if prompt.cache_points is None:
            return None
        self._expire()
        read = await self._read(prompt, slot)
        computed = read
        for point in prompt.cache_points:
            if point.tokens > computed:
                await self._write(prompt.tokens[: point.tokens], slot, point.lives_s, continues=computed > 0)
                computed = point.tokens
        last = prompt.cache_points[-1].tokens if prompt.cache_points else 0
        return CacheUse(read=read, written=max(0, last - read))

    async def _read(self, prompt: Prompt, slot: int) -> int:
        for point in reversed(prompt.cache_points or ()):
            key = _key(prompt.tokens[: point.tokens])
            entry = self._entries.get(key)
            if entry is None:
                continue
            try:
                await self._server.restore(slot, entry.file)
            except ModelRefusedError:  # meanwhile the process was replaced and its files were deleted
                self._drop(key)
                continue
            if key in self._entries:
                self._entries[key] = self._entries.pop(key)
            entry.lives_s = point.lives_s
            entry.expires = time.monotonic() + entry.lives_s
            return point.tokens
        return 0

    async def _write(self, tokens: list[int], slot: int, lives_s: float, *, continues: bool) -> None:
        await self._server.read(tokens, slot, continues=continues)
        self._names += 1
        generation, file = self._server.generation, f"prefix-{self._names}"
        size = await self._server.save(slot, file)
        key = _key(tokens)
        if key in self._entries:  # another request wrote it concurrently
            self._drop(key)
        expires = time.monotonic() + lives_s
        self._entries[key] = _Kept(file=file, size=size, lives_s=lives_s, expires=expires, generation=generation)
        while len(self._entries) > 1 and (
            len(self._entries) > self._settings.cached_prefixes
            or sum(entry.size for entry in self._entries.values()) > self._settings.cache_bytes
        ):
            self._drop(next(iter(self._entries)))

    def _expire(self) -> None:
        now, generation = time.monotonic(), self._server.generation
        for key, entry in list(self._entries.items()):
            if entry.expires <= now or entry.generation != generation:
                self._drop(key)

    def _drop(self, key: str) -> None:
        if (entry := self._entries.pop(key, None)) is not None:
            self._server.forget(entry.file)


def _key(tokens: list[int]) -> str:
    return hashlib.sha256(array("I", tokens).tobytes()).hexdigest()
