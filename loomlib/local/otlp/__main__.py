"""`python -m loomlib.local.otlp HOME`: the collecting process, as the service starts it."""

import sys
from pathlib import Path

from .collecting import collect

collect(Path(sys.argv[1]))
