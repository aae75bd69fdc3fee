"""Layers of a function: where its process finds what is in them.

AWS puts layers at /opt; here each has a folder of its own, and the variables that name /opt on AWS name these.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path


def layer_variables(layers: Sequence[Path], own: Mapping[str, str]) -> dict[str, str]:
    """Return the variables with which a function finds the modules, programs and libraries of its layers.

    Args:
        layers: Their folders, the one that counts first at first.
        own: The function's own variables, which come after a layer's.
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
