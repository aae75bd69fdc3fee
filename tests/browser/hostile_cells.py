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
agent = bench.deploy(folder, name="hostile")
inv = agent.invoke(f"0:{len(texts)}")
broken = agent.invoke("19:fail")
inv.latency()
trace = inv.trace()
"""

DISPLAYS = [
    "display(agent, inv, broken, broken.sentence(), inv.agui(), inv.layers(), *inv.views())",
    "display(trace, trace.trajectory(), trace.cost(), inv.logs(), agent.logs(limit=500), agent.sessions())",
    "display(agent.invocations(), bench, bench.agents(), bench.overview(), agent.overview())",
    """memory = bench.create_memory("hostile", strategies=["semantic"])
client = memory.reader.clients.data()
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
cases = [EvalCase(id=f"c{n}", turns=(Turn(prompt=each, expected_answer=each),), tags=(each[:40],), assertions=(each,))
         for n, each in enumerate(texts)]
evalset = EvalSet(name="hostile", cases=tuple(cases))
class Quiet:
    def update(self, snapshot):
        pass
    close = finish = update
run = loom.evaluate(speak, evalset, [judge, "exact"], name=texts[4], progress=Quiet())
again = loom.evaluate(lambda prompt: "no", evalset, [judge, "exact"], name=texts[5], progress=Quiet())
display(evalset, run, run.summary(), run.rows(), run.scores(), run.compare(again), run.failures())""",
    """from loomlib.alerts import Rule
from loomlib.reports import Listing, Verdict
for each in texts:
    bench.add_alert(Rule("error_rate", above=0.05, name=each, notify=["team"]))
display(bench.check_alerts(notify=False), bench.alerts(), bench.plugins())
display(Verdict(title=texts[0], sentences=texts, gates=[("missed", each) for each in texts]))
display(Listing(items=[(each, each, each) for each in texts]))""",
    """from IPython.display import Markdown
from loomlib.errors import LoomError
for each in texts[:40]:
    print(each)
print(LoomError(texts[0], on=texts[1], try_=texts[2]))
display({"text/plain": "\\n".join(texts)}, raw=True)
display(texts)""",
]
