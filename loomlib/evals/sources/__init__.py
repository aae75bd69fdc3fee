"""Where cases and conversations come from beside people: simulated users, red teams, chaos; by strands_evals' means.

What each needs: `PlannedUser` and `red_team_set` without a model need nothing. `SimulatedUser`, `generated_set`, a red
team's generator and `simulated_tools` ask a model over the workbench's connection; the local scripted one answers in
form and little sense, and its numbers say "simulated user". `chaos_set` needs an agent with strands_evals'
`ChaosPlugin` inside; `strands:FailureCommunication`, `strands:PartialCompletion` and `strands:RecoveryStrategy` judge
how it bore it.
"""

from .accompanied import accompanied
from .chaos import CHAOS_EFFECTS, chaos_set
from .generated import generated_set
from .red_team import generated_red_team_set, red_team_set
from .simulated_tools import simulated_tools
from .users import PlannedUser, SimulatedUser

__all__ = [
    "CHAOS_EFFECTS",
    "PlannedUser",
    "SimulatedUser",
    "accompanied",
    "chaos_set",
    "generated_red_team_set",
    "generated_set",
    "red_team_set",
    "simulated_tools",
]
