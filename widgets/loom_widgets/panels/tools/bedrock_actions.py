"""Knowledge bases and guardrails in the Tools panel: questions and checks."""

# pyright: basic

from __future__ import annotations

from typing import Any, Final, cast

from loomlib.aws.guardrails import Side
from loomlib.errors import LoomError
from loomlib.presentation.formats import milliseconds, plural, score

from ...kit import Form, PanelPort, action
from ...kit.source import connect_code, frame_rows
from ...kit.texts import short_text

_MOST_PASSAGES: Final = 100
_MATCHES: Final = ("policy", "kind", "match", "action")


class BedrockActions:
    """Questions to knowledge bases, and texts for guardrails."""

    def __init__(self, panel: PanelPort) -> None:
        self._panel = panel

    @action(lane="knowledge")
    def search_base(self, form: Form) -> None:
        """Show the passages that answer a question best."""
        key, question, k = self._question_in_form(form)
        opened = f"bench.bedrock.knowledge_bases.get({key!r})"
        self._panel.show_code(f"{connect_code(self._panel.bench)}{opened}.search({question!r}, k={k})")
        passages = self._panel.bench.bedrock.knowledge_bases.get(key).search(question, k=k)
        rows = [
            [score(row["score"]), short_text(row["text"]), short_text(row["source"])]
            for row in frame_rows(passages[["score", "text", "source"]])
        ]
        self._panel.show(answer={"base": key, "head": ["score", "passage", "source"], "rows": rows})
        self._panel.say(f"{plural(len(rows), 'passage')} found.")

    @action(lane="knowledge")
    def ask_base(self, form: Form) -> None:
        """Have a model answer a question from the passages."""
        key, question, k = self._question_in_form(form)
        opened = f"bench.bedrock.knowledge_bases.get({key!r})"
        self._panel.show_code(f"{connect_code(self._panel.bench)}{opened}.ask({question!r}, k={k})")
        self._panel.say("Asking …")
        reply = self._panel.bench.bedrock.knowledge_bases.get(key).ask(question, k=k)
        took = milliseconds(reply.value.duration_ms)
        cited = [
            [short_text(part), short_text(passage.text), short_text(passage.source)]
            for part, passages in reply.value.citations
            for passage in passages
        ]
        self._panel.show(
            answer={
                "base": key,
                "text": short_text(reply.text),
                "took": took,
                "labels": list(reply.labels),
                "head": ["part of the answer", "passage", "source"],
                "rows": cited,
            }
        )
        self._panel.say(f"Answered in {took}.")

    @action(lane="guardrail")
    def check_text(self, form: Form) -> None:
        """Show a guardrail's assessment of a text."""
        key, text, side = form.text("key"), form.text("text"), form.text("side") or "INPUT"
        if not key:
            raise LoomError("No guardrail is chosen", try_="choose a row of the table")
        if side not in ("INPUT", "OUTPUT"):
            raise LoomError("The side must be INPUT or OUTPUT", on=side[:40], try_="INPUT for a prompt")
        opened = f"bench.bedrock.guardrails.get({key!r})"
        self._panel.show_code(f"{connect_code(self._panel.bench)}{opened}.check({text!r}, side={side!r})")
        check = self._panel.bench.bedrock.guardrails.get(key).check(text, side=cast(Side, side))
        matches: list[list[Any]] = [
            [short_text(row[name]) for name in _MATCHES] for row in check.matches.to_dict("records")
        ]
        self._panel.show(
            check={
                "key": key,
                "intervened": check.intervened,
                "text": short_text(check.text),
                "took": milliseconds(check.value.duration_ms),
                "labels": list(check.labels),
                "head": list(_MATCHES),
                "rows": matches,
            }
        )
        self._panel.say(f"The guardrail {'intervened' if check.intervened else 'let the text pass'}.")

    def _question_in_form(self, form: Form) -> tuple[str, str, int]:
        key, question = form.text("key"), form.text("question").strip()
        if not key:
            raise LoomError("No knowledge base is chosen", try_="choose a row of the table")
        if not question:
            raise LoomError("There is no question", try_="write one")
        return key, question, max(1, form.count("k", 5, most=_MOST_PASSAGES))
