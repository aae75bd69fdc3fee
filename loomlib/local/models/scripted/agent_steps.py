"""Requests of the steps of Bedrock Agents: a check of a request, a routing, an answer from passages, a final answer.

They are recognized by the tags that their prompts request. The answer depends on words: a request is rejected if it
asks for the instructions, and an agent is chosen in the same way as a tool.
"""

from __future__ import annotations

import re
from typing import Final

from ..request import ConverseRequest, Tool
from .choosing import plan_calls
from .language import pattern
from .prose import best_sentence

_SCHEMA: Final = {"type": "object", "properties": {"message": {"type": "string"}}, "required": ["message"]}
_INTRUDES: Final = re.compile(
    r"\b(?:ignore|disregard|forget|reveal|show|print|repeat|change)\b.{0,60}"
    r"\b(?:instructions?|system prompt|your prompt)\b",
    re.IGNORECASE | re.DOTALL,
)
_AGENT: Final = re.compile(r'<agent\b[^>]{0,40}\bname="([^"]{1,100})"[^>]{0,40}>(.{0,4000}?)</agent>', re.DOTALL)
_RESULT: Final = re.compile(r"<search_result\b[^>]{0,40}>(.{0,20000}?)</search_result>", re.DOTALL)
_TAGGED: Final = r"<{0}>(.{{0,20000}}?)</{0}>"


def step_reply(request: ConverseRequest) -> str | None:
    """Return the answer for a step of Bedrock Agents; None if the request is not such a step."""
    if request.tools:
        return None
    prompt = request.turns[request.newest_question].text
    full_prompt = f"{request.system}\n{prompt}"
    if "</category>" in full_prompt:
        return _category(_tagged(prompt, "question") or prompt)
    if "</a>" in full_prompt and (agents := _AGENT.findall(full_prompt)):
        return f"<a>{_agent(agents, prompt)}</a>"
    if "</final_response>" in full_prompt and (answer := _tagged(full_prompt, "latest_response")):
        return f"<final_response>{answer}</final_response>"
    if results := _RESULT.findall(full_prompt):
        return _from_results(full_prompt, prompt, results)
    return None


def _category(text: str) -> str:
    if _INTRUDES.search(text):
        return "<thinking>The request is about the agent's instructions.</thinking>\n<category>B</category>"
    return "<thinking>The request is one that the agent can handle.</thinking>\n<category>D</category>"


def _agent(agents: list[tuple[str, str]], prompt: str) -> str:
    """Return the name of the only agent that fits a request."""
    text = _tagged(prompt, "last_user_request") or prompt
    tools = [Tool(name=name, description=description.strip(), schema=_SCHEMA) for name, description in agents]
    plan = plan_calls(text, tools)
    names = {call.tool.name for call in plan.calls} | {entry.tool.name for entry in plan.unfilled}
    if len(names) == 1:
        return names.pop()
    follows = not names and pattern("choosing", "follow_up").match(text)
    return "keep_previous_agent" if follows and _tagged(prompt, "conversation") else "undecidable"


def _from_results(full_prompt: str, prompt: str, results: list[str]) -> str:
    question = _tagged(full_prompt, "question") or _tagged(full_prompt, "query") or _RESULT.sub("", prompt)
    answer = best_sentence(question, results) or "The search results do not answer the question."
    return f"<answer>{answer}</answer>" if "</answer>" in full_prompt else answer


def _tagged(text: str, tag: str) -> str:
    match = re.search(_TAGGED.format(tag), text, re.DOTALL)
    return match[1].strip() if match else ""
