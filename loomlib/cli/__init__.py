"""The command line: parse, call one function, print, exit code. A plugin's command begins with `@pass_place`."""

from .main import main
from .output import emit_json, emit_table, say
from .place import Place, pass_place

__all__ = ["Place", "emit_json", "emit_table", "main", "pass_place", "say"]
