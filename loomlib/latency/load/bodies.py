"""Bodies of the requests of a load test: one prompt, sizes of payloads, lengths of prompts, growing conversations."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Protocol

from loomlib.agents.message_format import MessageFormat
from loomlib.agents.payloads import make_payload
from loomlib.presentation.formats import plural, size

_WORDS: Final = ("the", "agent", "reads", "a", "long", "order", "and", "sums", "up", "its", "lines")


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadBody:
    """The body of a request and its label, by which figures are split.

    Attributes:
        content: The bytes.
        label: What distinguishes it in the step, such as `16 kB`; "" where all are the same.
    """

    content: bytes = field(repr=False)
    label: str = ""


class Bodies(Protocol):
    """Chooses the body of each call."""

    def body(self, call: int, turn: int, session_id: str) -> LoadBody:
        """Return the body of a call.

        Args:
            call: The call's number in the step, from 0.
            turn: Its number in its session, from 0.
            session_id: Its session, for agents whose form contains it.
        """
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class SameBody:
    """The same request every time.

    Attributes:
        prompt: The prompt; None when `payload` is the whole request.
        payload: A mapping or bytes, as in an invocation.
        form: The agent's own message format; None for `{"prompt": …}`.
    """

    prompt: str | None = None
    payload: Mapping[str, Any] | bytes | None = None
    form: MessageFormat | None = None

    def __post_init__(self) -> None:
        make_payload(self.prompt, self.payload)

    def body(self, call: int, turn: int, session_id: str) -> LoadBody:
        """Return the body.

        Args:
            call: Without effect.
            turn: Without effect.
            session_id: The session, for agents whose form contains it.
        """
        return LoadBody(content=make_payload(self.prompt, self.payload, form=self.form, session_id=session_id).body)


@dataclass(frozen=True, slots=True, kw_only=True)
class PayloadSizes:
    """Bodies of given sizes in turn: the prompt, and padding in a member that an agent ignores.

    Attributes:
        bytes_each: The sizes of the whole bodies, in bytes.
        prompt: The prompt.
        member: The name of the member with the padding.
    """

    bytes_each: tuple[int, ...]
    prompt: str = "ping"
    member: str = "padding"

    def __post_init__(self) -> None:
        least = len(self._of_size(0))
        if not self.bytes_each or min(self.bytes_each) < least:
            raise ValueError(f"a body with this prompt needs at least {plural(least, 'byte')}")

    def body(self, call: int, turn: int, session_id: str) -> LoadBody:
        """Return a body of the next size.

        Args:
            call: Chooses the size.
            turn: Without effect.
            session_id: Without effect.
        """
        size_bytes = self.bytes_each[call % len(self.bytes_each)]
        return LoadBody(content=self._of_size(size_bytes - len(self._of_size(0))), label=size(size_bytes))

    def _of_size(self, padding: int) -> bytes:
        return make_payload(self.prompt, {self.member: "x" * padding}).body


@dataclass(frozen=True, slots=True, kw_only=True)
class PromptLengths:
    """Prompts of given lengths in turn. Words, not tokens: how many tokens a word has depends on the model.

    Attributes:
        words_each: The lengths, in words.
        question: The last words of every prompt.
        is_start_shared: Whether prompts have the same beginning, so that a model's prompt cache can be used; otherwise
            each begins with the call's number.
        form: The agent's own message format; None for `{"prompt": …}`.
    """

    words_each: tuple[int, ...]
    question: str = "What is the total?"
    is_start_shared: bool = True
    form: MessageFormat | None = None

    def __post_init__(self) -> None:
        if not self.words_each or min(self.words_each) < 0:
            raise ValueError("words_each needs at least one length, each 0 or more")

    def body(self, call: int, turn: int, session_id: str) -> LoadBody:
        """Return a body of the next length.

        Args:
            call: Chooses the length.
            turn: Without effect.
            session_id: The session, for agents whose form contains it.
        """
        words = self.words_each[call % len(self.words_each)]
        start = "" if self.is_start_shared else f"{call} "
        prompt = f"{start}{_text(words)} {self.question}".strip()
        return LoadBody(
            content=make_payload(prompt, form=self.form, session_id=session_id).body, label=plural(words, "word")
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class GrowingPrompts:
    """Prompts of a conversation, each of which contains all earlier questions, as a client without memory sends them.

    Attributes:
        first_words: Words of the first prompt.
        words_per_turn: Words that every further turn adds.
        question: The last words of every prompt.
        form: The agent's own message format; None for `{"prompt": …}`.
    """

    first_words: int = 50
    words_per_turn: int = 200
    question: str = "What is the total?"
    form: MessageFormat | None = None

    def __post_init__(self) -> None:
        if self.first_words < 0 or self.words_per_turn < 0:
            raise ValueError("first_words and words_per_turn must be 0 or more")

    def body(self, call: int, turn: int, session_id: str) -> LoadBody:
        """Return the body of a turn.

        Args:
            call: Without effect.
            turn: Its number in the conversation, from 0.
            session_id: The session, for agents whose form contains it.
        """
        words = self.first_words + turn * self.words_per_turn
        prompt = f"{_text(words)} {self.question}".strip()
        return LoadBody(
            content=make_payload(prompt, form=self.form, session_id=session_id).body, label=plural(words, "word")
        )


def _text(words: int) -> str:
    return " ".join(_WORDS[number % len(_WORDS)] for number in range(words))
