"""`python -m loomlib.local.models.scripted`: the process that answers long requests, as the service starts it."""

import sys

from .apart import serve

serve(sys.stdin.buffer, sys.stdout.buffer, float(sys.argv[1]))
