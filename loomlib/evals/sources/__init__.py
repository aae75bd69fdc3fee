"""Generated cases and conversations, with strands_evals: simulated users, red teams, failure injection.

`PlannedUser` and `red_team_set` need no model. `SimulatedUser`, `generated_set`, `generated_red_team_set` and
`simulated_tools` call a model over the workbench's connection; the local scripted model returns well-formed but
meaningless answers, and its numbers are labelled "simulated user". `chaos_set` needs an agent with strands_evals'
`ChaosPlugin`; `strands:FailureCommunication`, `strands:PartialCompletion` and `strands:RecoveryStrategy` judge how the
agent handles the failures.
"""

from loomlib.deprecation import renamed_names

from .chaos import CHAOS_EFFECTS, chaos_set
from .generated import generated_set
from .red_team import generated_red_team_set, red_team_set
from .simulated_conversations import with_simulated_user
from .simulated_tools import simulated_tools
from .users import PlannedUser, SimulatedUser

__all__ = [
    "CHAOS_EFFECTS",
    "PlannedUser",
    "SimulatedUser",
    "chaos_set",
    "generated_red_team_set",
    "generated_set",
    "red_team_set",
    "simulated_tools",
    "with_simulated_user",
]

__getattr__ = renamed_names(__name__, {"accompanied": "with_simulated_user"})
