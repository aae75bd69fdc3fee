"""Loom's panels for JupyterLab and Voilà.

    import loomlib as loom, loom_widgets

    bench = loom.connect()
    loom_widgets.build(bench)      # deploy, register, list
    loom_widgets.test(bench)       # invoke, watch, inspect
    bench.panel("operate")         # the same, found as a plugin

    %load_ext loom_widgets         # %%agent NAME: the cell's text is the prompt

With the extension (or `loom_widgets.enable()`) a cell that shows an invocation, a trace, a study, an evaluation, a
memory or a table of them shows it as a view: spans open, tables sort and filter, cases unfold. The object's own HTML
and text stay in the same output. They are the whole output where no view can be drawn: under papermill and nbconvert,
and in a terminal. A notebook that is opened again without its kernel shows no views, as with all widgets: run its
cells, or leave the extension out of notebooks that are mostly read. `loom_widgets.disable()` turns the views off.

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
