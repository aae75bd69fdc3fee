"""AgentCore Code Interpreter as a capability of the service."""

from __future__ import annotations

from typing import Final

from ..capabilities import Capabilities, ServiceContext
from .invoking import CodeInvocations
from .pool import InterpreterPool
from .resource import CODE_INTERPRETER, CodeInterpreterBehaviour
from .spans import InvocationSpans

_CODE_BYTES: Final = 100_000_000  # AWS's developer guide: inline files of a code interpreter up to 100 MB


def add_interpreters(context: ServiceContext, capabilities: Capabilities) -> tuple[InterpreterPool, CodeInvocations]:
    """Add code interpreters and their sessions; return the pool of sessions and the handler of invocations."""
    interpreters = InterpreterPool(context.resources, context.sessions)
    capabilities.resources.append((CODE_INTERPRETER, CodeInterpreterBehaviour(on_deleted=interpreters.end_sessions_of)))
    invocations = CodeInvocations(interpreters, InvocationSpans(context.telemetry.spans))
    capabilities.data_components += [interpreters, invocations]
    capabilities.large_bodies["InvokeCodeInterpreter"] = _CODE_BYTES
    capabilities.stopping.push_async_callback(interpreters.close)
    return interpreters, invocations
