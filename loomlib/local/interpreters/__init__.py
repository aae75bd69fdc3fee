"""AgentCore Code Interpreter: sessions that execute code, commands and file operations in a sandbox."""

from .invoking import CodeInvocations
from .pool import InterpreterPool
from .resource import CODE_INTERPRETER, CodeInterpreterBehaviour
from .spans import InvocationSpans

__all__ = ["CODE_INTERPRETER", "CodeInterpreterBehaviour", "CodeInvocations", "InterpreterPool", "InvocationSpans"]
