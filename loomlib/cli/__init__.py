"""The command line `loom`; a plugin's commands use `CommandContext` and the functions of `output`."""

from ..deprecation import renamed_names
from .command_context import CommandContext, pass_command_context
from .main import main
from .output import emit_json, emit_table, printable, records, say

__getattr__ = renamed_names(__name__, {"Place": "CommandContext", "pass_command_context": "pass_command_context"})

__all__ = ["CommandContext", "emit_json", "emit_table", "main", "pass_command_context", "printable", "records", "say"]
