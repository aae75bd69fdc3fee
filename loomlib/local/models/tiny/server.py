"""The process that runs the model, and requests to it."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import AsyncGenerator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Final

import aiohttp

from ..json_values import JsonObject, as_integer, as_list, as_object, as_text
from ..openai_stream import events_of
from ..refusals import ModelRefusedError
from .settings import TinySettings

_TIMEOUT: Final = aiohttp.ClientTimeout(total=None, sock_connect=10, sock_read=300)
_KEPT_TEXTS: Final = 128  # each of fewer than 4,096 tokens, so at most about 30 MB
_ENVIRONMENT: Final = ("PATH", "LD_LIBRARY_PATH", "PYTHONPATH", "TMPDIR", "LANG", "HOME")  # not a real API key


class TinyServer:
    """llama.cpp in a separate process, which is started at once and restarted after it has ended.

    Its socket and the prefixes of the prompt cache are in a folder that only this user can open.

    Args:
        weights: The file of the model's weights.
        settings: Its limits.
    """

    def __init__(self, weights: Path, settings: TinySettings) -> None:
        self._weights, self._settings = weights, settings
        self._turn = asyncio.Lock()
        self._session: aiohttp.ClientSession | None = None
        self._ready = False
        self._tokens: dict[tuple[str, bool], list[int]] = {}  # the most recently used one is last
        self.generation = 0
        self._process: subprocess.Popen[bytes]
        self._folder: Path
        self._process, self._folder = self._spawn()

    async def tokens(self, text: str, *, marks: bool = False) -> list[int]:
        """Return the tokens of a text; tokens of repeated texts, such as a system prompt, are cached.

        Args:
            text: The text.
            marks: Whether text such as `<|im_start|>` is read as a special token; not for a user's text.
        """
        tokens = self._tokens.pop((text, marks), None)
        if tokens is None:
            answer = await self._post("/tokenize", {"content": text, "parse_special": marks, "add_special": False})
            tokens = [token for entry in as_list(answer.get("tokens")) if (token := as_integer(entry)) is not None]
        if len(tokens) < self._settings.context_tokens:  # a longer text is refused in any case
            self._tokens[text, marks] = tokens
        if len(self._tokens) > _KEPT_TEXTS:
            del self._tokens[next(iter(self._tokens))]
        return list(tokens)

    async def read(self, prompt: list[int], slot: int, *, continues: bool) -> None:
        """Compute a prompt in a slot without an answer; with `continues`, from the slot's state."""
        body: JsonObject = {"prompt": prompt, "n_predict": 0, "cache_prompt": continues, "id_slot": slot}
        await self._post("/completion", body)

    async def save(self, slot: int, file: str) -> int:
        """Write the state of a slot to a file of the cache; return its size in bytes."""
        answer = await self._post(f"/slots/{slot}?action=save", {"filename": file})
        return as_integer(answer.get("n_written")) or 0

    async def restore(self, slot: int, file: str) -> None:
        """Load the state of a slot from a file of the cache."""
        await self._post(f"/slots/{slot}?action=restore", {"filename": file})

    def forget(self, file: str) -> None:
        """Delete a file of the cache."""
        (self._folder / file).unlink(missing_ok=True)

    async def write(self, request: Mapping[str, object]) -> AsyncGenerator[JsonObject]:
        """Yield the events of an answer as it is computed; closing the iterator stops the computation."""
        session = await self._running()
        try:
            async with session.post("http://model/completion", json={**request, "stream": True}) as response:
                if response.status >= 400:
                    raise _refusal(await response.text())
                async for event in events_of(aiter(response.content)):
                    if "error" in event:
                        raise _refusal(json.dumps(event))
                    yield event
        except (aiohttp.ClientError, TimeoutError, OSError) as error:
            raise self._ended(error) from error

    async def close(self) -> None:
        """End the process and delete its folder."""
        if self._session is not None:
            await self._session.close()
        self._end()

    async def _post(self, path: str, body: JsonObject) -> JsonObject:
        session = await self._running()
        try:
            async with session.post(f"http://model{path}", json=body) as response:
                text = await response.text()
        except (aiohttp.ClientError, TimeoutError, OSError) as error:
            raise self._ended(error) from error
        if response.status >= 400:
            raise _refusal(text)
        return as_object(json.loads(text))

    async def _running(self) -> aiohttp.ClientSession:
        async with self._turn:
            if self._process.poll() is not None:
                if self._session is not None:
                    await self._session.close()
                self._session, self._ready = None, False
                self._end()
                self.generation += 1
                self._process, self._folder = self._spawn()
            if not self._ready:
                assert self._process.stdout is not None
                if not await asyncio.to_thread(self._process.stdout.readline):
                    raise ModelRefusedError(
                        "ServiceUnavailableException", "The small model could not be loaded; see the service's log."
                    )
                self._ready = True
            if self._session is None:
                connector = aiohttp.UnixConnector(path=f"{self._folder}/model.sock", force_close=True)
                self._session = aiohttp.ClientSession(connector=connector, timeout=_TIMEOUT)
            return self._session

    def _spawn(self) -> tuple[subprocess.Popen[bytes], Path]:
        folder = Path(tempfile.mkdtemp(prefix="loom-model-"))
        settings = self._settings
        config = {"weights": str(self._weights), "folder": str(folder), "context_tokens": settings.context_tokens}
        config |= {"slots": settings.slots, "threads": settings.threads}
        process = subprocess.Popen(
            [sys.executable, "-m", __package__ or ""],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env={name: os.environ[name] for name in _ENVIRONMENT if name in os.environ},
            start_new_session=True,
        )
        assert process.stdin is not None
        process.stdin.write(json.dumps(config).encode() + b"\n")
        process.stdin.flush()
        return process, folder

    def _end(self) -> None:
        with suppress(ProcessLookupError):
            self._process.kill()
        self._process.wait()
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                with suppress(OSError):
                    pipe.close()
        shutil.rmtree(self._folder, ignore_errors=True)

    def _ended(self, error: Exception) -> ModelRefusedError:
        if isinstance(error, TimeoutError):
            return ModelRefusedError("ModelTimeoutException", "The small model did not answer in time.")
        return ModelRefusedError("ModelErrorException", f"The small model's process ended: {error}")


def _refusal(text: str) -> ModelRefusedError:
    try:
        reason = as_text(as_object(as_object(json.loads(text)).get("error")).get("message"))
    except ValueError:
        reason = ""
    return ModelRefusedError("ModelErrorException", f"The small model refused the request: {reason or text[:300]}")
