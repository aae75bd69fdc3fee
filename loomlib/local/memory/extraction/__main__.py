"""`python -m loomlib.local.memory.extraction HOME`: the extracting process, as the service starts it."""

import json
import os
import sys
from pathlib import Path

from .settings import ExtractionSettings
from .worker import run


def _settings() -> ExtractionSettings:
    line = b""
    while not line.endswith(b"\n"):  # byte by byte: what follows is for `run`, which waits on the descriptor
        byte = os.read(0, 1)
        if not byte:
            sys.exit(0)
        line += byte
    return ExtractionSettings(**json.loads(line))


os.umask(0o077)
os.nice(5)  # answering is more urgent than remembering
run(Path(sys.argv[1]), _settings())
