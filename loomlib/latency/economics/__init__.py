"""Economics of starts: the cost of keeping sessions warm, the effect on latency, and the cost of other hosts.

`traffic` and `policy` are the inputs, `measured` has the calls of a stored study, `shares` and `mixture` the formulas
(`simulation` checks them), `runtime_cost` and `hosts` the costs, and `compare` combines them.
"""

from loomlib.dispatch import register

from .assumptions import Moment, StartAssumptions
from .compare import compare_policies
from .hosts import tasks_for
from .measured import MeasuredStarts, MeteredCall, measured_starts
from .policy import StartPolicy, usual_policies
from .result import ChangedAnswer, HostOutcome, PolicyOutcome, StartEconomics
from .shares import erlang_b
from .simulation import SimulatedStarts, simulate_starts
from .think_times import ThinkTimes
from .traffic import SessionTraffic

_VIEWS = {
    "sentences": "title sentences",
    "tables": "table host_table price_table assumption_table change_table",
    "views": "figure html notes summary",
}
for _module, _names in _VIEWS.items():
    for _name in _names.split():
        register(f"StartEconomics.{_name}", f"loomlib.latency.economics.{_module}:{_name}")
register("StartEconomics.gate", "loomlib.latency.economics.views:judge")

__all__ = [
    "ChangedAnswer",
    "HostOutcome",
    "MeasuredStarts",
    "MeteredCall",
    "Moment",
    "PolicyOutcome",
    "SessionTraffic",
    "SimulatedStarts",
    "StartAssumptions",
    "StartEconomics",
    "StartPolicy",
    "ThinkTimes",
    "compare_policies",
    "erlang_b",
    "measured_starts",
    "simulate_starts",
    "tasks_for",
    "usual_policies",
]
