"""Loom's panels for JupyterLab and Voilà.

    import loomlib as loom, loom_widgets

    bench = loom.connect()
    loom_widgets.build(bench)      # deploy, register, list
    loom_widgets.test(bench)       # ask, watch, look into it
    bench.panel("operate")         # the same, found as a plugin

    %load_ext loom_widgets         # %%agent NAME: the cell is what the agent is asked

With the extension (or `loom_widgets.enable()`) a cell that shows an invocation, a trace, a study, an evaluation, a
memory or a table of them shows it as a view: spans open, tables sort and filter, cases unfold. The object's own HTML
and text stay in the same output, and they are all there is where nobody could draw a view: under papermill and
nbconvert, in a terminal. A notebook that is opened again without its kernel shows no views, as with all widgets: run
its cells, or leave the extension out of notebooks that are mostly read. `loom_widgets.disable()` ends it.

A panel, and the view of an object, is imported when it is opened.
"""

from .displays import disable, enable
from .extension import load_ipython_extension, unload_ipython_extension
from .opening import build, evaluate, memory, operate, test, tools

__all__ = [
    "build",
    "disable",
    "enable",
    "evaluate",
    "load_ipython_extension",
    "memory",
    "operate",
    "test",
    "tools",
    "unload_ipython_extension",
]
