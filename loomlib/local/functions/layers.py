"""Layers of a function: the environment variables through which its process finds their contents.

AWS puts layers at /opt; here each has its own folder, and the variables that contain /opt on AWS contain these folders.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path


def layer_variables(layers: Sequence[Path], own: Mapping[str, str]) -> dict[str, str]:
    """Return the variables with which a function finds the modules, programs and libraries of its layers.

    Args:
        layers: Their folders, in order of precedence.
        own: The function's own variables; their paths follow those of the layers.
    """
    places = {
        "PYTHONPATH": [
            place for layer in layers for place in (*layer.glob("python/lib/python*/site-packages"), layer / "python")
        ],
        "NODE_PATH": [layer / "nodejs" / "node_modules" for layer in layers],
        "LD_LIBRARY_PATH": [layer / "lib" for layer in layers],
    }
    variables: dict[str, str] = {}
    for name, folders in places.items():
        if paths := [str(folder) for folder in folders if folder.is_dir()]:
            variables[name] = os.pathsep.join([*paths, *filter(None, [own.get(name, "")])])
    return variables
