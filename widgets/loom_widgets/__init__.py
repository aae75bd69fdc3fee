"""Loom's panels for JupyterLab and Voilà.

    import loomlib as loom, loom_widgets

    bench = loom.connect()
    loom_widgets.build(bench)      # deploy, register, list
    loom_widgets.test(bench)       # ask, watch, look into it
    bench.panel("operate")         # the same through the plugin door

A panel is imported when it is opened.
"""

from .opening import build, evaluate, memory, operate, test

__all__ = ["build", "evaluate", "memory", "operate", "test"]
