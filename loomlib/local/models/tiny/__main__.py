"""The process of the small model: llama.cpp's server on a Unix socket, until standard input closes."""

from __future__ import annotations

import importlib
import json
import os
import shutil
import sys
from typing import Any


def main() -> None:
    """Read the settings from the first line of standard input, load the model, and serve it."""
    settings = json.loads(sys.stdin.readline())
    xllamacpp: Any = importlib.import_module("xllamacpp")  # an optional package without types

    parameters: Any = xllamacpp.CommonParams()
    parameters.model.path = settings["weights"]
    parameters.hostnames = [f"{settings['folder']}/model.sock"]  # the suffix selects a Unix socket
    parameters.slot_save_path = f"{settings['folder']}/"
    parameters.n_ctx, parameters.n_parallel = settings["context_tokens"] * settings["slots"], settings["slots"]
    # A long prompt is processed in parts of this many tokens; other requests get a token between two parts.
    parameters.n_batch = parameters.n_ubatch = 128
    parameters.cpuparams.n_threads = parameters.cpuparams_batch.n_threads = settings["threads"]
    parameters.n_threads_http = 2 * settings["slots"] + 2
    parameters.cache_ram_mib, parameters.cache_idle_slots = 0, False  # Loom caches prefixes itself, as Bedrock does
    parameters.ui, parameters.fit_params, parameters.verbosity = False, False, 1
    server: Any = xllamacpp.Server(parameters)
    print(server.listening_address, flush=True)  # noqa: T201 - the parent waits for this line
    sys.stdin.read()
    shutil.rmtree(settings["folder"], ignore_errors=True)
    os._exit(0)


main()
