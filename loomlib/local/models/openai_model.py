"""A real model at an OpenAI-compatible URL, used as if it were a Bedrock model."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from urllib.parse import urlsplit

import aiohttp

from .json_values import JsonObject, as_object
from .openai_stream import ChatStream, events_of
from .openai_wire import from_chat, reason_of, to_chat
from .refusals import ModelRefusedError
from .reply import Reply, body_of, call_tokens, encode_exception, metadata_frame
from .request import read_request
from .tokens import estimate_input_tokens, estimate_tokens

API_KEY_VARIABLE = "LOOM_MODEL_API_KEY"
MODEL_NAME_VARIABLE = "LOOM_MODEL_NAME"
_SHORTEST_SECRET = 6  # shorter keys, such as "none", only satisfy servers that require a key
_CODES = {
    404: "ResourceNotFoundException",
    408: "ModelTimeoutException",
    429: "ThrottlingException",
    502: "ServiceUnavailableException",
    503: "ServiceUnavailableException",
    504: "ModelTimeoutException",
}
_TIMEOUT = aiohttp.ClientTimeout(total=None, sock_connect=10, sock_read=300)


class OpenAiModel:
    """Forwards Converse requests to `{url}/chat/completions`.

    The key is read only from LOOM_MODEL_API_KEY; the model is the request's model id unless LOOM_MODEL_NAME names one.
    The limit is 10 s for a connection, and 300 s for a pause in the response.
    """

    simulated = False

    def __init__(self, *, url: str | None, timeout: aiohttp.ClientTimeout = _TIMEOUT) -> None:
        parts = urlsplit(url or "")
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise ValueError(
                f"the model's address must be an http or https URL such as http://127.0.0.1:11434/v1, not {url!r}"
            )
        self._url = parts._replace(path=f"{parts.path.rstrip('/')}/chat/completions").geturl()
        self._host = parts.hostname if parts.port is None else f"{parts.hostname}:{parts.port}"
        self._timeout = timeout
        self._key = os.environ.get(API_KEY_VARIABLE, "").strip()
        self._session: aiohttp.ClientSession | None = None

    @property
    def label(self) -> str:
        """Provenance label with the model's host."""
        return f"openai-compatible {self._host}"

    async def converse(self, model_id: str, request: JsonObject) -> JsonObject:
        """Answer a Converse request with a chat completion."""
        began_s = asyncio.get_running_loop().time()
        async with self._posted(model_id, request, stream=False) as response:
            try:
                answer = as_object(json.loads(await response.read()))
                reply = from_chat(answer)
            except (ValueError, RecursionError) as error:
                raise self._error("ModelErrorException", f"did not answer with a chat completion: {error}") from error
        return body_of(_counted(reply, request), (asyncio.get_running_loop().time() - began_s) * 1000)

    async def converse_stream(self, model_id: str, request: JsonObject) -> AsyncIterator[bytes]:
        """Answer a ConverseStream request with a streamed chat completion."""
        began_s = asyncio.get_running_loop().time()
        chat = ChatStream()
        has_begun = False
        try:
            async with self._posted(model_id, request, stream=True) as response:
                async for event in events_of(aiter(response.content)):
                    if event.get("error"):
                        reason = reason_of(event) or "no reason given"
                        raise self._error("ModelStreamErrorException", f"ended the stream with an error: {reason}")
                    for frame in chat.feed(event):
                        has_begun = True
                        yield frame
            final_frames = chat.finish()
        except (ModelRefusedError, ValueError) as error:
            refused = (
                error
                if isinstance(error, ModelRefusedError)
                else self._error("ModelStreamErrorException", f"sent a stream that cannot be read: {error}")
            )
            if not has_begun:
                raise refused from error
            # The status has already been sent, so the error is sent in the stream.
            yield encode_exception("modelStreamErrorException", refused.message)
            return
        for frame in final_frames:
            yield frame
        tokens = Reply(input_tokens=chat.input_tokens, output_tokens=chat.output_tokens)
        yield metadata_frame(_counted(tokens, request), (asyncio.get_running_loop().time() - began_s) * 1000)

    async def close(self) -> None:
        """Close the connections."""
        if self._session is not None:
            await self._session.close()
            self._session = None

    @asynccontextmanager
    async def _posted(
        self, model_id: str, request: JsonObject, *, stream: bool
    ) -> AsyncGenerator[aiohttp.ClientResponse]:
        """Send a request and yield the response once it is accepted.

        Raises:
            ModelRefusedError: The server refused the request or could not be reached.
        """
        read_request(model_id, request)
        model = os.environ.get(MODEL_NAME_VARIABLE) or model_id
        headers = {"Authorization": f"Bearer {self._key}"} if self._key else {}
        if self._session is None:
            self._session = aiohttp.ClientSession(timeout=self._timeout)
        try:
            async with self._session.post(
                self._url, json=to_chat(model, request, stream=stream), headers=headers
            ) as response:
                if response.status >= 400:
                    raise self._refusal(response.status, await response.text(errors="replace"))
                yield response
        except TimeoutError as error:
            raise self._error("ModelTimeoutException", "did not answer in time.") from error
        except aiohttp.ClientError as error:
            raise self._error("ServiceUnavailableException", f"cannot be reached: {error}") from error

    def _error(self, code: str, message: str) -> ModelRefusedError:
        """Return an error about the model's server. Its texts may repeat the request's key, which is removed."""
        return ModelRefusedError(code, f"The model at {self._host} {self._without_key(message)}")

    def _without_key(self, text: str) -> str:
        return text.replace(self._key, "[the key]") if len(self._key) >= _SHORTEST_SECRET else text

    def _refusal(self, status: int, text: str) -> ModelRefusedError:
        """Return the Bedrock error that corresponds to an HTTP status of the model's server."""
        try:
            reason = reason_of(as_object(json.loads(text)))
        except (ValueError, RecursionError):
            reason = ""
        # Remove the key before the text is cut: a cut within the key would leave a part of it.
        message = f"answered {status}: {reason or self._without_key(text)[:300] or 'no reason given'}"
        if status in (401, 403):
            return self._error("AccessDeniedException", f"{message} (the key is read from {API_KEY_VARIABLE})")
        other = "ModelErrorException" if status >= 500 else "ValidationException"
        return self._error(_CODES.get(status, other), message)


def _counted(reply: Reply, request: JsonObject) -> Reply:
    """Return `reply` with estimated tokens where the server did not count them."""
    return replace(
        reply,
        input_tokens=reply.input_tokens or estimate_input_tokens(request),
        output_tokens=reply.output_tokens or estimate_tokens(reply.text) + sum(map(call_tokens, reply.calls)),
    )
