"""What a judge is given: the parts of Loom's own judge prompts, and of those of strands_evals."""

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
# Headlines of strands_evals' prompts: what follows one, up to the next, is that part.
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
_SAID = re.compile(r"^(User|Assistant|Action|Tool|Tool call|Tool result): ", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Material:
    """The parts by name; `instructions` are the judge's own orders."""

    instructions: str
    parts: dict[str, str] = field(default_factory=dict[str, str])

    def get(self, name: str) -> str:
        return self.parts.get(name, "").strip()

    def numbered(self, name: str) -> dict[str, str]:
        """The parts "answer A", "answer B" or "answer 1" … under what stands after the name."""
        start = f"{name} "
        return {key.removeprefix(start): text for key, text in self.parts.items() if key.startswith(start)}


def read_material(request: ConverseRequest) -> Material | None:
    """The material of a judge's prompt; None when the request is no such prompt."""
    if not request.tools and not request.output_schema and "JSON object" not in request.system:
        return None
    text = request.turns[0].text  # the first: later ones are the judge's own steps
    fence = _FENCE.search(request.system)
    if fence is not None:
        parts = _fenced(text, fence.group())
        return Material(request.system, parts) if parts else None
    parts = _tagged(text) or _headed(text)
    return Material(request.system, parts) if parts else None


def _fenced(text: str, fence: str) -> dict[str, str]:
    """Only this fence counts; whatever else looks like one is material."""
    found: dict[str, str] = {}
    for block in text.split(f"{fence} BEGIN ")[1:]:
        name, _, rest = block.partition("\n")
        content, end, _ = rest.partition(f"\n{fence} END {name}")
        if end:
            found[name] = content
    return found


def _tagged(text: str) -> dict[str, str]:
    """strands_evals' test cases. The last rubric is the real one: the output stands before it."""
    before, mark, rubric = text.rpartition("<Rubric>")
    if not mark or not text.startswith("Evaluate this singular test case"):
        return {}
    found = {"rubric": rubric.removesuffix("</Rubric>")}
    output = re.search(r"<Output>(.*)</Output>", before, re.DOTALL)
    if output:
        found["output"] = output[1]
        before = before[: output.start()] + before[output.end() :]
    for name, tag in _TAGS.items():
        if part := re.search(rf"<{tag}>(.*?)</{tag}>", before, re.DOTALL):
            found[name] = part[1]
    return found


def _headed(text: str) -> dict[str, str]:
    found: dict[str, str] = {}
    heads = list(_HEAD.finditer(text))
    for at, head in enumerate(heads):
        name = _HEADS[head.group().removeprefix("Context: ").strip()]
        end = heads[at + 1].start() if at + 1 < len(heads) else len(text)
        found.setdefault(name, text[head.end() : end].strip())
    if not {"output", "history", "tool call"} & set(found):
        return {}
    said = _said(found.get("history", ""))
    asked = [words for who, words in said if who == "User"]
    answered = [words for who, words in said if who == "Assistant"]
    done = [f"{who}: {words}" for who, words in said if who not in ("User", "Assistant")]
    if asked:
        found.setdefault("prompt", "\n".join(asked) if "tool call" in found else asked[-1])
    if answered:
        found.setdefault("output", answered[-1])
    if done:
        found.setdefault("trajectory", "\n".join(done))
    return found


def _said(history: str) -> list[tuple[str, str]]:
    marks = list(_SAID.finditer(history))
    starts = [*(mark.start() for mark in marks), len(history)]
    return [(mark[1], history[mark.end() : end].strip()) for mark, end in zip(marks, starts[1:], strict=True)]
