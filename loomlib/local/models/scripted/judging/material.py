"""The parts of a judge's prompt: of Loom's own judges, of Evaluate, and of strands_evals."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from ...request import ConverseRequest

_FENCE = re.compile(r"#loom-part-[0-9a-f]{32}#")
_TAGS = {
    "prompt": "Input",
    "golden answer": "ExpectedOutput",
    "trajectory": "Trajectory",
    "reference": "ExpectedTrajectory",
}
# Headings of strands_evals' prompts: what follows one, up to the next, is that part.
_HEADS = {
    "# Conversation History:": "history",
    "## Previous conversation history": "history",
    "# Conversation record": "history",
    "# Target turn to evaluate:": "history",
    "# Previous turns:": "earlier",
    "CONVERSATION RECORD:": "history",
    "# Assistant's Response:": "output",
    "AGENT RESPONSE:": "output",
    "Candidate Response:": "output",
    "USER QUERY:": "prompt",
    "EXPECTED RESPONSE:": "golden answer",
    "SUCCESS ASSERTIONS:": "assertions",
    "## Target tool-call to evaluate": "tool call",
    "# Available tools": "tools",
    "## Available tool-calls": "tools",
}
_HEAD = re.compile("|".join(rf"^(?:Context: )?{re.escape(head)}[ \n]?" for head in _HEADS), re.MULTILINE)
_SPEAKER = re.compile(r"^(User|Assistant|Action|Tool|Tool call|Tool result): ", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Material:
    """The parts by name; `instructions` is the judge's system prompt."""

    instructions: str
    parts: dict[str, str] = field(default_factory=dict[str, str])

    def get(self, name: str) -> str:
        """Return a part; empty if it is missing."""
        return self.parts.get(name, "").strip()

    def numbered(self, name: str) -> dict[str, str]:
        """Return the parts "answer A", "answer B" or "answer 1" …, by what follows the name."""
        start = f"{name} "
        return {key.removeprefix(start): text for key, text in self.parts.items() if key.startswith(start)}


def read_material(request: ConverseRequest) -> Material | None:
    """Read the material of a judge's prompt; None if the request is not such a prompt."""
    if not request.tools and not request.output_schema and "JSON object" not in request.system:
        return None
    text = request.turns[0].text  # later turns are the judge's own steps
    fence = _FENCE.search(request.system)
    if fence is not None:
        parts = _fenced(text, fence.group())
        return Material(request.system, parts) if parts else None
    parts = _tagged(text) or _headed(text)
    return Material(request.system, parts) if parts else None


def _fenced(text: str, fence: str) -> dict[str, str]:
    """Return the parts between this fence; other text that resembles a fence is material."""
    parts: dict[str, str] = {}
    for block in text.split(f"{fence} BEGIN ")[1:]:
        name, _, rest = block.partition("\n")
        content, end, _ = rest.partition(f"\n{fence} END {name}")
        if end:
            parts[name] = content
    return parts


def _tagged(text: str) -> dict[str, str]:
    """Return the parts of a strands_evals test case. The last rubric counts, as the output comes before it."""
    before, mark, rubric = text.rpartition("<Rubric>")
    if not mark or not text.startswith("Evaluate this singular test case"):
        return {}
    parts = {"rubric": rubric.removesuffix("</Rubric>")}
    output = re.search(r"<Output>(.*)</Output>", before, re.DOTALL)
    if output:
        parts["output"] = output[1]
        before = before[: output.start()] + before[output.end() :]
    for name, tag in _TAGS.items():
        if part := re.search(rf"<{tag}>(.*?)</{tag}>", before, re.DOTALL):
            parts[name] = part[1]
    return parts


def _headed(text: str) -> dict[str, str]:
    parts: dict[str, str] = {}
    heads = list(_HEAD.finditer(text))
    for at, head in enumerate(heads):
        name = _HEADS[head.group().removeprefix("Context: ").strip()]
        end = heads[at + 1].start() if at + 1 < len(heads) else len(text)
        parts.setdefault(name, text[head.end() : end].strip())
    if not {"output", "history", "tool call"} & set(parts):
        return {}
    spoken = _spoken(parts.get("history", ""))
    prompts = [words for who, words in spoken if who == "User"]
    answers = [words for who, words in spoken if who == "Assistant"]
    steps = [f"{who}: {words}" for who, words in spoken if who not in ("User", "Assistant")]
    if prompts:
        parts.setdefault("prompt", "\n".join(prompts) if "tool call" in parts else prompts[-1])
    if answers:
        parts.setdefault("output", answers[-1])
    if steps:
        parts.setdefault("trajectory", "\n".join(steps))
    return parts


def _spoken(history: str) -> list[tuple[str, str]]:
    marks = list(_SPEAKER.finditer(history))
    starts = [*(mark.start() for mark in marks), len(history)]
    return [(mark[1], history[mark.end() : end].strip()) for mark, end in zip(marks, starts[1:], strict=True)]
