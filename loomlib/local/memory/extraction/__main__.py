"""`python -m loomlib.local.memory.extraction HOME`: the extraction process, as the service starts it."""

import json
import os
import sys
from pathlib import Path

from .process import ExtractionSettings
from .worker import run


def _settings() -> ExtractionSettings:
    line = b""
    while not line.endswith(b"\n"):  # byte by byte: `run` reads the rest from the same descriptor
        byte = os.read(0, 1)
        if not byte:
            sys.exit(0)
        line += byte
    return ExtractionSettings(**json.loads(line))


os.umask(0o077)
os.nice(5)  # answering requests matters more than extraction
run(Path(sys.argv[1]), _settings())
