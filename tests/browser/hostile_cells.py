"""The cells of a notebook that puts every hostile text into every place that Loom shows: the same in JupyterLab, under
Voilà and in an exported report."""

from __future__ import annotations

from pathlib import Path

DATA = Path(__file__).resolve().parents[1] / "data"

PARAMETERS = f"beacon: str = 'http://127.0.0.1:9/b'\ndata: str = {str(DATA)!r}"

SETUP = """import json, pathlib, sys, tempfile, datetime
sys.path.insert(0, data)
import hostile
import loomlib as loom
from IPython.display import display
texts = [each.text for each in hostile.answers(beacon)]
bench = loom.connect()
folder = pathlib.Path(tempfile.mkdtemp())
(folder / "texts.json").write_text(json.dumps(texts))
(folder / "agent.py").write_text((pathlib.Path(data) / "hostile_agent.py").read_text())
memory = bench.memories.create("hostile", strategies=["semantic"])
agent = bench.deploy(folder, name="hostile", memory=memory)
inv = agent.invoke(f"0:{len(texts)}")
broken = agent.invoke("19:fail")
inv.latency()
trace = inv.trace()
"""

DISPLAYS = [
    "display(agent, inv, broken, broken.sentence(), inv.protocols.agui(), inv.telemetry.layers())",
    "display(*inv.protocols.views())",
    "display(trace, trace.trajectory(), trace.cost(), inv.telemetry.logs(), agent.telemetry.logs(limit=500))",
    "display(agent.history.sessions())",
    "display(agent.history.table(), bench, bench.agents(), bench.telemetry.overview(), agent.telemetry.overview())",
    """client = memory.reader.clients.data()
for at in range(0, len(texts), 50):
    some = texts[at : at + 50]
    said = [{"conversational": {"role": "USER", "content": {"text": each}}} for each in some]
    now = datetime.datetime.now(datetime.UTC)
    client.create_event(memoryId=memory.id, actorId="anna", sessionId="s1", eventTimestamp=now, payload=said)
    client.batch_create_memory_records(memoryId=memory.id, records=[
        {"requestIdentifier": f"r{n}", "namespaces": ["/facts/anna/"], "content": {"text": each}, "timestamp": now}
        for n, each in enumerate(some)])
records = memory.records("/facts/anna/")
display(memory, memory.actors(), memory.sessions("anna"), memory.events("anna", session="s1"), records)
record = next(iter(memory.iter_records("/facts/anna/")))
display(memory.provenance(record))
display(memory.timeline("anna", session="s1"), memory.search("script", "/facts/anna/"), memory.health())""",
    """from loomlib.evals import EvalCase, EvalSet, Score, Turn
def judge(answer, case):
    said = case.turns[0].prompt
    return Score(value=0.5, passed=False, rationale=said, labels=(texts[0],), details={texts[1]: texts[2]})
def speak(prompt):
    if prompt == texts[3]:
        raise ValueError(prompt)
    return {"text": prompt, "tools": [prompt]}
cases = [EvalCase(id=each, turns=(Turn(prompt=each, expected_answer=each),), tags=(each[:40],), assertions=(each,))
         for each in texts]
evalset = EvalSet(name=texts[7], cases=tuple(cases), description=texts[8])
class Quiet:
    def update(self, snapshot):
        pass
    close = finish = update
run = loom.evaluate(speak, evalset, [judge, "exact"], name=texts[4], progress=Quiet())
again = loom.evaluate(lambda prompt: "no", evalset, [judge, "exact"], name=texts[5], progress=Quiet())
display(evalset, run, run.summary(), run.rows(), run.scores(), run.compare(again), run.failures())""",
    """from loomlib.alerts import AlertRule
from loomlib.reports import Listing, Verdict
for each in texts:
    bench.alerts.add(AlertRule("error_rate", above=0.05, name=each, notify=["team"]))
display(bench.alerts.check(notify=False), bench.alerts.table(), bench.plugins())
display(Verdict(title=texts[0], sentences=texts, gates=[("missed", each) for each in texts]))
display(Listing(items=[(each, each, each) for each in texts]))""",
    """from loomlib.plugins.listing import PluginLine
from loomlib.plugins.problems import PluginProblem
from loomlib.workbench.plugin_view import PluginView
for n, each in enumerate(texts):  # what a service tells of a runtime that somebody else made
    id = f"stranger-{n:010d}"
    bench.context.store.agents.upsert(
        scope="local", arn=f"arn:aws:bedrock-agentcore:us-east-1:123456789012:runtime/{id}", runtime_id=id,
        region="us-east-1", account_id="123456789012", name=each, status=each, log_group=each,
        available_qualifiers=["DEFAULT", each], raw_metadata={
            "agentRuntimeVersion": each, "description": each, "failureReason": each, "tags": {each: each}, each: each})
strangers = [bench.agent(f"stranger-{n:010d}") for n in range(len(texts))]
display(strangers[19], strangers[19].invoke("hi"), strangers[19].telemetry.overview())
display(bench.agents(), bench.telemetry.overview(), bench)
display(loom.overview([bench]), *strangers[:3])
problems = [PluginProblem(distribution=e, version=e, target=f"{e} → {e}", error=e, fix=e) for e in texts]
display(PluginView(tuple(
    PluginLine(distribution=e, version=e, target=e, offers={e: (e,)}, status="broken", problems=(problem,))
    for e, problem in zip(texts, problems))))
for n, each in enumerate(texts):  # what an agent wrote of what waits for a person
    approval = {
        "id": f"{n} {each}", "state": "pending" if n % 2 else "done", "tool": each, "input": {each: each},
        "session_id": inv.session_id, "actor": each, "note": each, "result": each, "asked_at": f"{now:%FT%T}+00:00",
        "expires_at": f"{now + datetime.timedelta(days=1):%FT%T}+00:00"}
    client.create_event(
        memoryId=memory.id, actorId="loom-approvals", sessionId="hostile-approvals", eventTimestamp=now,
        payload=[{"blob": json.dumps(approval)}])
assert len(agent.approvals.list()) == len(texts)
display(agent.approvals.list(), agent.invoke("agui").protocols.agui())""",
    """from IPython.display import Markdown
from loomlib.errors import LoomError
for each in texts[:40]:
    print(each)
print(LoomError(texts[0], on=texts[1], try_=texts[2]))
display({"text/plain": "\\n".join(texts)}, raw=True)
display(texts)""",
]

VIEWS = """%load_ext loom_widgets
import weakref
from loomlib.latency import Measurement, Scenario, StudyResult
from loomlib.latency.design import StudyDesign
from loomlib.latency.floor import Floor
now = datetime.datetime.now(datetime.UTC)
calls = tuple(
    Measurement(position=n, block=n // 3, scenario=tuple(Scenario)[n % 3], state="failed" if n == 4 else "done",
                duration_ms=None if n == 4 else 100.0 + n % 7, failure=texts[n], error_message=texts[n],
                session_id=texts[n])
    for n in range(60))
study = StudyResult(
    study_id=texts[6], agent_name="hostile", agent_arn="arn", qualifier=texts[0], scope="local",
    labels=tuple(texts[:3]), design=StudyDesign(prompt=texts[1]), state="complete", floor=Floor.read(None),
    created_at=now, finished_at=None, calls=calls, client={}, store=bench.context.store)
scores = run.scores()
held = weakref.ref(scores)
display(inv, trace, study, run, memory, records, scores)
del scores"""
"""The same objects as views."""
