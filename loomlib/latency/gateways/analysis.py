"""Conclusions of a study of gateways."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from loomlib.experiments import StudyFinding, StudyMethod, StudyTable, failure_counts, pending_count
from loomlib.presentation.formats import join, milliseconds, number, percent, plural
from loomlib.presentation.html import fragment
from loomlib.statistics.percentiles import CONFIDENCE, PERCENTILE_METHOD, SHARE_METHOD

from ..method import timeout_argument
from .charts import call_chart, choice_chart, token_chart
from .design import ALL, CALLS, SEARCH, THROUGH
from .estimates import RANKS, call_estimates, choice_estimates, recall_estimates
from .result import GatewayResult, GatewayUnit
from .tables import SIMULATED, call_table, choice_table, difference_table, recall_table

if TYPE_CHECKING:
    import plotly.graph_objects as go
    from markupsafe import Markup

FORMAT = "loom.gateway-study/1"
_MOST_SHOWN = 5


def sentences(result: GatewayResult) -> list[str]:
    """Return what the gateway adds, how well the search and the model choose, and what failed."""
    texts = [*_call_sentences(result), *_recall_sentences(result), *_choice_sentences(result)]
    failed = failure_counts(result.measured)
    attempts = len(result.measured) - pending_count(result.measured)
    listed = join([f"{count} {name}" for name, count in failed.most_common()])
    count = plural(sum(failed.values()), "failure") if failed else "No failures"
    return [*texts, f"{count} in {plural(attempts, 'measurement')}{f': {listed}' if failed else ''}."]


def table(result: GatewayResult) -> StudyTable:
    """Return the model's choices: one row for each catalogue and way."""
    return choice_table(result)


def findings(result: GatewayResult) -> list[StudyFinding]:
    """Return what limits the comparison, and the questions whose tool the search did not return."""
    study_findings: list[StudyFinding] = []
    for name, units in _conditions(result).items():
        tried = [unit for unit in units if not unit.is_pending]
        if tried and all(unit.is_failed for unit in tried):
            study_findings.append(
                StudyFinding(
                    kind="no answer",
                    title=f"No measurements of: {name}",
                    evidence=f"{plural(len(tried), 'failure')}: {tried[0].error_message}",
                    advice="Its row has no figures.",
                )
            )
    for one in recall_estimates(result):
        question_count = one.worded.n + one.reworded.n
        missed = [unit for unit in one.units if unit.is_done and unit.rank is None]
        if missed:
            examples = "; ".join(f"“{unit.question}” ({unit.wanted})" for unit in missed[:_MOST_SHOWN])
            study_findings.append(
                StudyFinding(
                    kind="missed by the search",
                    title=f"The search of {plural(one.tools, 'tool')} did not return the right one for some questions",
                    evidence=f"{number(len(missed), 0)} of {plural(question_count, 'question')}: {examples}",
                    advice="No model can choose a tool that is left out. Describe tools in the words of their users.",
                )
            )
    through = [unit for unit in result.measured if unit.way == THROUGH and unit.is_done]
    if unknown := sum(unit.gateway_ms is None or unit.target_ms is None for unit in through):
        study_findings.append(
            StudyFinding(
                kind="no spans",
                title="The times of some calls cannot be split into parts",
                evidence=f"spans are missing for {number(unknown, 0)} of {plural(len(through), 'call')}",
                advice="On AWS, enable tracing of the gateway and export spans from the MCP server, then run the study "
                "again with its study_id: it reads the spans that have arrived.",
            )
        )
    if opened := sum(unit.is_reused is False for unit in result.measured if unit.is_call):
        study_findings.append(
            StudyFinding(
                kind="new connections",
                title="Some calls opened a connection",
                evidence=f"{plural(opened, 'call')} of {number(sum(unit.is_call for unit in result.measured), 0)}",
                advice="Their times include opening the connection and, with TLS, its handshake.",
            )
        )
    return study_findings


def figures(result: GatewayResult) -> dict[str, go.Figure]:
    """Return the charts `calls`, every call, and `choices` and `tokens` by the number of tools."""
    from loomlib.presentation.charts import Chart

    return {
        "calls": Chart(call_chart(result)),
        "choices": Chart(choice_chart(result)),
        "tokens": Chart(token_chart(result)),
    }


def method(result: GatewayResult) -> StudyMethod:
    """Return how the study was made."""
    design = result.design
    notes = [
        f"Calls: one tool of the catalogue of {plural(design.sizes[0], 'tool')}, directly at its MCP server and "
        f"through the gateway, one call at a time in randomized blocks of both (seed {design.seed}), in warm sessions "
        f"with an open connection after {plural(design.warm_ups, 'untimed call')}; the first search of each gateway "
        "and the first question are untimed, too. The direct call is a call of InvokeAgentRuntime, the gateway makes "
        "the same call. Both are signed.",
        "Times of calls and searches begin when the request is handed to the network and end when the socket has "
        "delivered the answer. The time of a model begins before boto3 sends and ends when boto3 has read the answer.",
        f"Medians and median paired differences: {PERCENTILE_METHOD}; shares: {SHARE_METHOD} "
        f"({percent(CONFIDENCE)} intervals). Intervals are not adjusted for multiple comparisons.",
        "Catalogues are generated: each tool performs one action on one kind of object, and a smaller catalogue is "
        "part of a larger one. A question asks for one tool, half of the questions in other words than the tool's "
        "description.",
        "All in the prompt: one request to the model with the question and every tool. Search first: the question goes "
        "to the gateway's search tool, and one request to the model has the tools that it returned (10 at most on the "
        "local AgentCore). The latency is that of search and model together.",
        "Right: the model calls the tool that the question asks for, and no other. A question without a call counts as "
        "wrong.",
        "Recall@k: the share of questions whose tool is among the first k results of the search alone. No model is "
        "involved.",
        "Failed calls, searches and questions have no times and count neither as right nor as wrong; they are counted "
        "by class.",
    ]
    limits = [
        "Generated tools are more alike than those of most products: they share their actions and their things.",
        "A target's span may end a little after its answer was sent: the gateway's part is too small by that amount.",
        "Where there are more questions than tools, several phrasings ask for the same tool. They are not independent, "
        "and the intervals of such a catalogue are too narrow.",
    ]
    if result.is_simulated:
        limits.insert(
            0,
            f"{SIMULATED.capitalize()}: the local AgentCore's scripted model compares words, and its tokens are "
            "estimated from characters. Its choices, tokens and times do not predict those of a real model. The search "
            "and its recall are real, but with Loom's vectors, not with AWS's.",
        )
    if result.scope == "local":
        limits.append("Client, gateway and MCP server share this machine: there is no network, and no TLS.")
    counts = f"calls={design.calls}, searches={design.searches}, questions={design.questions}"
    arguments = f"{counts}, model={design.model!r}, warm_ups={design.warm_ups}{timeout_argument(design.timeout_s)}"
    sizes = ", ".join(map(str, design.sizes))
    subject = f"deploy_catalogues(bench, ({sizes},), seed={design.seed})"
    return StudyMethod(
        notes=notes,
        limits=limits,
        run_again=f"loom.GatewayStudy({subject}, {arguments}).run()",
        facts={"seed": design.seed},
    )


def details(result: GatewayResult) -> dict[str, Any]:
    """Return this study's additions to the common JSON summary."""
    calls = call_estimates(result)
    return {
        "format": FORMAT,
        "gateways": {str(tools): result.design.gateways[tools] for tools in result.design.sizes},
        "model": {"id": result.design.model, "is_simulated": result.is_simulated},
        "calls": {
            "failed": {way: sum(unit.is_failed for unit in result.measured if unit.way == way) for way in CALLS},
            "direct_ms": calls.direct.summary(),
            "gateway_ms": calls.through.summary(),
            "added_ms": calls.added.summary(),
            "client_part_ms": calls.client.summary(),
            "gateway_part_ms": calls.gateway.summary(),
            "target_part_ms": calls.target.summary(),
        },
        "choices": [
            {
                "tools": one.tools,
                "way": one.way,
                "failed": sum(unit.is_failed for unit in one.units),
                "right": one.right.summary(),
                "input_tokens": one.tokens.summary(),
                "duration_ms": one.duration.summary(),
                "right_difference": one.gained.summary() if one.gained else None,
                "input_tokens_difference": one.tokens_added.summary() if one.tokens_added else None,
                "duration_difference_ms": one.added_ms.summary() if one.added_ms else None,
            }
            for one in choice_estimates(result)
        ],
        "search": [
            {
                "tools": one.tools,
                "failed": sum(unit.is_failed for unit in one.units),
                "search_ms": one.search.summary(),
                "recall_at_10_same_words": one.worded.summary(),
                "recall_at_10_other_words": one.reworded.summary(),
                **{f"recall_at_{most}": one.recall[most].summary() for most in RANKS},
            }
            for one in recall_estimates(result)
        ],
    }


def sections(result: GatewayResult) -> list[Markup]:
    """Return the tables of the differences, of the calls and of the search's recall."""
    return [
        fragment(
            "loomlib.experiments:table.html.j2",
            columns=study_table.columns,
            rows=[(row, ("", "")) for row in study_table.rows],
        )
        for study_table in (difference_table(result), call_table(result), recall_table(result))
    ]


def _conditions(result: GatewayResult) -> dict[str, Sequence[GatewayUnit]]:
    calls = {label: [unit for unit in result.measured if unit.way == way] for way, label in CALLS.items()}
    searches = {f"the search of {plural(one.tools, 'tool')}": one.units for one in recall_estimates(result)}
    return {**calls, **searches, **{one.name: one.units for one in choice_estimates(result)}}


def _call_sentences(result: GatewayResult) -> list[str]:
    if not result.design.calls:
        return []
    calls = call_estimates(result)
    added = calls.added
    if added.value is None or added.low is None or added.high is None:
        return [f"Too few calls were answered to tell what the gateway adds ({plural(added.n, 'pair')})."]
    if added.low <= 0 <= added.high:
        texts = [f"The calls do not show that the gateway adds time to a tool call ({added.text('ms')})."]
    else:
        verb = "adds" if added.value > 0 else "saves"
        texts = [
            f"The gateway {verb} {milliseconds(abs(added.value))} to a tool call (95 % interval of the difference "
            f"{added.interval_text('ms')}): {calls.through.text('ms')} against {calls.direct.text('ms')} for the "
            "direct call."
        ]
    if calls.gateway.is_known and calls.target.is_known:
        texts.append(
            f"According to the spans of calls through it, the gateway and the path to the target take "
            f"{calls.gateway.text('ms')} and the target takes {calls.target.text('ms')}."
        )
    return texts


def _recall_sentences(result: GatewayResult) -> list[str]:
    estimates = [one for one in recall_estimates(result) if one.recall[RANKS[0]].is_known]
    if not estimates:
        return []
    last = estimates[-1]
    listed = join(
        [
            f"{last.recall[most].text('share')} {f'among the first {most}' if most > 1 else 'as the first'}"
            for most in RANKS
        ]
    )
    return [f"Of {plural(last.tools, 'tool')}, the gateway's search returns the right one for {listed} (no model)."]


def _choice_sentences(result: GatewayResult) -> list[str]:
    mark = f" ({SIMULATED})" if result.is_simulated else ""
    estimates = {(one.tools, one.way): one for one in choice_estimates(result)}
    texts: list[str] = []
    if not result.design.questions:
        return texts
    for tools in dict.fromkeys((result.design.sizes[0], result.design.sizes[-1])):
        all_tools, searched = estimates[tools, ALL], estimates[tools, SEARCH]
        gained = searched.gained
        if gained is None or gained.low is None or gained.high is None:
            texts.append(f"Too few questions with {plural(tools, 'tool')} were answered to compare the two ways{mark}.")
            continue
        alike = gained.low <= 0 <= gained.high
        verdict = "no difference is shown" if alike else "search is better" if gained.low > 0 else "search is worse"
        texts.append(
            f"With {plural(tools, 'tool')}, the model chooses the right one for {searched.right.text('share')} of the "
            f"questions after a search and for {all_tools.right.text('share')} with all in the prompt ({verdict}). A "
            f"request has {searched.tokens.text()} and {all_tools.tokens.text()} input tokens, respectively{mark}."
        )
    return texts
