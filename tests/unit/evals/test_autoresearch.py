"""The research loop: what is kept and dropped, what is noted, and how it goes on."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from eval_runs import Says
from hypothesis import given
from hypothesis import strategies as st

from loomlib.errors import EvalError
from loomlib.evals import EvalSet, Score, TurnAnswer
from loomlib.evals.autoresearch import Autoresearch, Journal, Proposal, ResearchState, Trial, next_alpha
from loomlib.evals.autoresearch.model_proposer import describe
from loomlib.evals.autoresearch.spending import Spent, limits_left
from loomlib.evals.runs import Budget, Silent, evaluate

SET = EvalSet.from_rows(
    [{"id": f"c{n}", "prompt": f"question {n}", "expected": f"answer {n}"} for n in range(40)], name="forty"
)
BETTER = Proposal(name="knows more", variables={"KNOWS": "30"})
WORSE = Proposal(name="knows less", variables={"KNOWS": "2"})
SAME = Proposal(name="other words", variables={"STYLE": "plain"})
BROKEN = Proposal(name="cannot start", variables={"BROKEN": "1"})


class Workshop:
    """Makes agents that know the first KNOWS answers; counts what it is asked for."""

    def __init__(self) -> None:
        self.built: list[dict[str, str]] = []
        self.discarded = 0

    def build(self, environment: Mapping[str, str]) -> Any:
        self.built.append(dict(environment))
        if "BROKEN" in environment:
            raise RuntimeError("no such model")
        knows = int(environment.get("KNOWS", "10"))

        def agent(prompt: str) -> str:
            number = int(prompt.split()[-1])
            return f"answer {number}" if number < knows else "I do not know"

        return agent

    def discard(self, built: Any) -> None:
        self.discarded += 1


def research(folder: Path, workshop: Any, proposals: Any, **more: Any) -> Autoresearch:
    options: dict[str, Any] = {
        "objective": "exact", "journal": folder / "journal.jsonl", "store": str(folder / "loom.db"), **more,
    }  # fmt: skip
    return Autoresearch(workshop, options.pop("evalset", SET), ["exact"], proposals=proposals, **options)


def test_a_better_proposal_is_kept_and_others_are_dropped(tmp_path: Path) -> None:
    workshop = Workshop()
    result = research(tmp_path, workshop, [SAME, WORSE, BETTER, BROKEN], most_trials=4).run()
    assert [trial.decision for trial in result.trials] == ["dropped", "dropped", "kept", "failed"]
    assert result.environment == {"KNOWS": "30"}
    assert workshop.discarded == 2
    kept_trial = result.kept[0]
    assert (kept_trial.baseline, kept_trial.value, len(kept_trial.won), kept_trial.lost) == (0.25, 0.75, 20, ())
    assert result.best_run == kept_trial.run_id != result.baseline_run
    assert "RuntimeError: no such model" in result.trials[3].reason
    assert result.stopped == "the limit of 4 proposals was reached"
    assert list(result.table()["decision"]) == ["dropped", "dropped", "kept", "failed"]
    assert "No held-out set confirms this." in result.sentences()


def test_a_resumed_research_tries_nothing_twice(tmp_path: Path) -> None:
    research(tmp_path, Workshop(), [WORSE, BETTER]).run()
    again = Workshop()
    renamed = Proposal(name="the same under another name", variables={"KNOWS": "2"}, why="hope")
    result = research(tmp_path, again, [WORSE, renamed, BETTER, SAME]).run()
    assert [trial.proposal.name for trial in result.trials] == ["knows less", "knows more", "other words"]
    assert again.built == [{"KNOWS": "30", "STYLE": "plain"}]  # on top of what was kept, the baseline not again


def test_a_change_that_leads_back_to_what_was_tried_is_passed_over(tmp_path: Path) -> None:
    back = Proposal(name="as it was", variables={"KNOWS": "10"})
    result = research(tmp_path, Workshop(), [back], baseline={"KNOWS": "10"}).run()
    assert result.trials == ()
    assert result.stopped == "there were no more proposals"


def test_a_line_cut_off_by_a_kill_is_passed_over_and_the_rest_continues(tmp_path: Path) -> None:
    research(tmp_path, Workshop(), [WORSE, BETTER]).run()
    journal = tmp_path / "journal.jsonl"
    content = journal.read_bytes()
    journal.write_bytes(content[:-40])
    assert Journal(journal).read().damaged == 1
    result = research(tmp_path, Workshop(), [WORSE, BETTER, SAME]).run()
    assert [trial.decision for trial in result.trials] == ["dropped", "kept", "dropped"]
    assert any("1 line of the journal" in sentence for sentence in result.sentences())
    final = Journal(journal).read()
    assert (final.damaged, len(final.trials)) == (1, 3)


@given(st.data())
def test_a_journal_cut_anywhere_never_loses_a_whole_line(data: st.DataObject) -> None:
    import tempfile

    trials = [
        Trial(number=n, proposal=SAME, configuration="c", decision="dropped", reason=f"ünclear \n {n}")
        for n in range(3)
    ]
    with tempfile.TemporaryDirectory() as folder:
        journal = Journal(Path(folder) / "j.jsonl")
        journal.add({"loom_autoresearch": 1})
        ends = [journal.path.stat().st_size]
        for trial in trials:
            journal.add(trial.plain())
            ends.append(journal.path.stat().st_size)
        cut = data.draw(st.integers(0, ends[-1]))
        journal.path.write_bytes(journal.path.read_bytes()[:cut])
        whole = sum(end - 1 <= cut for end in ends[1:])
        assert journal.read().trials == tuple(trials[:whole])
        if journal.read().head is None:  # as a research does that finds an empty journal
            journal.add({"loom_autoresearch": 1})
        journal.add(trials[2].plain())
        assert journal.read().trials == (*trials[:whole], trials[2])


def test_a_journal_of_another_research_is_refused(tmp_path: Path) -> None:
    research(tmp_path, Workshop(), []).run()
    other = EvalSet(name="forty", cases=SET.cases[:30])
    with pytest.raises(EvalError, match="differs in its set digest"):
        research(tmp_path, Workshop(), [], evalset=other).run()
    with pytest.raises(EvalError, match="differs in its baseline"):
        research(tmp_path, Workshop(), [], baseline={"KNOWS": "3"}).run()
    (tmp_path / "notes.txt").write_text("dear diary\n")
    with pytest.raises(EvalError, match="not a research journal"):
        research(tmp_path, Workshop(), [], journal=tmp_path / "notes.txt").run()


def test_two_researches_do_not_share_a_journal_at_a_time(tmp_path: Path) -> None:
    with Journal(tmp_path / "journal.jsonl").locked(), pytest.raises(EvalError, match="Another process"):
        research(tmp_path, Workshop(), []).run()


def test_all_tests_together_spend_no_more_than_alpha(tmp_path: Path) -> None:
    proposals = [Proposal(name=str(n), variables={"STYLE": str(n)}) for n in range(5)]
    result = research(tmp_path, Workshop(), [BROKEN, *proposals], most_trials=6).run()
    spent = [trial.alpha for trial in result.trials]
    assert spent[0] == 0  # it never came to a test
    assert sum(spent) <= 0.05 + 1e-12
    assert next_alpha(0.05, result.trials, 5) == 0
    longer = research(tmp_path, Workshop(), [Proposal(name="x", variables={"STYLE": "x"})], most_trials=10).run()
    assert sum(trial.alpha for trial in longer.trials) <= 0.05 + 1e-12


def test_a_small_gain_is_not_kept_when_many_proposals_share_the_error(tmp_path: Path) -> None:
    little = Proposal(name="five more", variables={"KNOWS": "15"})
    (tmp_path / "alone").mkdir()
    assert research(tmp_path / "alone", Workshop(), [little], most_trials=1).run().kept
    result = research(tmp_path, Workshop(), [little], most_trials=20).run()
    assert not result.kept
    assert "not significantly better" in result.trials[0].reason


def test_a_change_that_makes_another_evaluator_worse_is_dropped(tmp_path: Path) -> None:
    def brief(text: str, case: Any) -> bool:
        return text != "answer 29"  # never said by the baseline

    def briefer(text: str, case: Any) -> bool:
        return text.startswith("I do not know") or int(text.split()[-1]) < 12

    options = {"objective": "exact", "journal": tmp_path / "j", "store": str(tmp_path / "loom.db")}
    result = Autoresearch(
        Workshop(), SET, ["exact", brief, briefer], proposals=[BETTER], most_trials=1, **options
    ).run()
    assert result.trials[0].decision == "dropped"
    assert result.trials[0].reason.endswith("but worse in briefer")


@pytest.mark.parametrize(
    ("rule", "stopped", "count"),
    [
        ({"patience": 2}, "2 proposals in a row were not kept", 2),
        ({"target": 0.25}, "the target was reached: exact is 0.250", 0),
        ({"most_trials": 1}, "the limit of 1 proposal was reached", 1),
    ],
)
def test_a_research_stops_by_its_rules(tmp_path: Path, rule: dict[str, Any], stopped: str, count: int) -> None:
    result = research(tmp_path, Workshop(), [SAME, WORSE, BETTER], **rule).run()
    assert (result.stopped, len(result.trials)) == (stopped, count)


def test_a_budget_holds_for_the_whole_research_and_over_resumes(tmp_path: Path) -> None:
    def thinking(environment: Mapping[str, str]) -> Any:
        return lambda prompt: TurnAnswer(text="?", tools=(), input_tokens=9, output_tokens=1, cost=0.0)

    budget = Budget(tokens=1_000)  # the baseline takes 400, each trial as much
    proposals = [SAME, WORSE, BETTER]
    result = research(tmp_path, thinking, proposals, budget=budget).run()
    assert len(result.trials) == 1
    assert "budget" in result.stopped
    for _ in range(2):  # the interrupted trial is not started again
        more = research(tmp_path, thinking, proposals, budget=budget).run()
        assert (len(more.trials), more.stopped) == (1, "the budget is used up")
    assert len(research(tmp_path, thinking, proposals).run().trials) == 3


def test_secrets_in_variables_are_neither_displayed_nor_sent_to_a_model(tmp_path: Path) -> None:
    sent: list[str] = []

    def propose(state: ResearchState) -> Proposal | None:
        sent.append(describe(state))
        return None if state.trials else Proposal(name="another key", variables={"OPENAI_API_KEY": "sk-other-secret"})

    secrets = {"OPENAI_API_KEY": "sk-proj-Zq8vT1xPq9Lm3Rk7Wc2Yd5Bn", "DB_PASSWORD": "hunter2hunter"}
    result = research(tmp_path, Workshop(), propose, baseline={"STYLE": "plain", **secrets}).run()
    for text in (result._repr_html_(), *sent):
        assert "plain" in text
        assert not [secret for secret in (*secrets.values(), "sk-other-secret") if secret in text]
    assert len(sent) == 2
    assert "another key" in sent[1]


def test_a_budget_counts_what_is_known_and_the_judges(tmp_path: Path) -> None:
    left = limits_left(Budget(money=1.0), Spent(cost=0.75) + Spent(cost=None))
    assert left == Budget(money=0.25)

    def agent(prompt: str) -> TurnAnswer:
        return TurnAnswer(text="?", input_tokens=9, output_tokens=1, cost=0.5 if prompt == "question 0" else None)

    judge = Says("paid", Score(value=1.0, tokens=5, cost=0.25))
    run = evaluate(agent, SET, ["exact", judge], store=str(tmp_path / "loom.db"), progress=Silent())
    assert Spent.of(run, seconds=1.0) == Spent(seconds=1.0, tokens=40 * 15, cost=10.5)
    run = evaluate(lambda prompt: "?", SET, ["exact"], store=str(tmp_path / "loom.db"), progress=Silent())
    assert Spent.of(run, seconds=1.0) == Spent(seconds=1.0, cost=None)


def test_a_proposer_is_reported_what_was_tried_and_may_not_repeat_itself_for_ever(tmp_path: Path) -> None:
    reported: list[ResearchState] = []

    def proposer(standing: ResearchState) -> Proposal:
        reported.append(standing)
        return BETTER if standing.trials else WORSE

    result = research(tmp_path, Workshop(), proposer).run()
    assert [trial.proposal for trial in result.trials] == [WORSE, BETTER]
    assert [len(standing.trials) for standing in reported[:3]] == [0, 1, 2]
    assert reported[2].environment == {"KNOWS": "30"}
    assert "had all been tried before" in result.stopped


def test_the_winner_is_confirmed_on_cases_that_it_was_not_chosen_by(tmp_path: Path) -> None:
    halves = [EvalSet(name=f"half {n}", cases=SET.cases[n::2]) for n in (0, 1)]
    result = research(tmp_path, Workshop(), [BETTER], evalset=halves[0], holdout=halves[1], most_trials=1).run()
    assert result.confirmation is not None
    assert result.confirmation["exact"].verdict == "better"
    assert any(sentence.startswith("On the held-out set") for sentence in result.sentences())


async def test_a_research_runs_inside_a_running_loop(tmp_path: Path) -> None:
    assert (await research(tmp_path, Workshop(), [BETTER]).arun()).kept


def test_a_proposal_is_its_content() -> None:
    one = Proposal.tool_description("find_order", "Finds orders.", why="shorter")
    assert one.digest == Proposal.tool_description("find_order", "Finds orders.", name="x").digest
    environment = one.applied({"TOOL_DESCRIPTIONS": '{"other": "stays"}', "A": "b"})
    assert json.loads(environment["TOOL_DESCRIPTIONS"]) == {"find_order": "Finds orders.", "other": "stays"}
    assert Proposal.read(json.loads(json.dumps(one.plain()))) == one
    with pytest.raises(ValueError, match="changes nothing"):
        Proposal(name="empty")
    for text in ("[1]", "[" * 100_000):
        with pytest.raises(EvalError, match="not a JSON object"):
            one.applied({"TOOL_DESCRIPTIONS": text})


def test_what_a_proposer_wrote_is_shown_as_text(tmp_path: Path) -> None:
    evil = Proposal(name="<script>alert(1)</script>", variables={"STYLE": "<img src=x onerror=alert(1)>"})
    page = research(tmp_path, Workshop(), [evil]).run()._repr_html_()
    assert "<script>" not in page
    assert "&lt;script&gt;" in page
