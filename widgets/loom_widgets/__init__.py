"""Loom's panels for JupyterLab and Voilà.

    import loomlib as loom, loom_widgets

    bench = loom.connect()
    loom_widgets.build(bench)      # deploy, register, list
    loom_widgets.test(bench)       # ask, watch, look into it
    bench.panel("operate")         # the same through the plugin door

    %load_ext loom_widgets         # %%agent NAME: the cell is what the agent is asked

A panel is imported when it is opened.
"""

from .extension import load_ipython_extension, unload_ipython_extension
from .opening import build, evaluate, memory, operate, test

__all__ = [
    "build",
    "evaluate",
    "load_ipython_extension",
    "memory",
    "operate",
    "test",
    "unload_ipython_extension",
]
