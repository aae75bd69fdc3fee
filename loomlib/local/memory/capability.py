"""AgentCore Memory as a capability of the service."""

from __future__ import annotations

from collections.abc import Callable

from ..capabilities import Capabilities, ServiceContext
from ..expiry import ExpiryClock
from .application_logs import MemoryLogs
from .control_plane import MEMORY, MemoryBehaviour, MemoryDirectory
from .events import EventPlane
from .long_term import LongTermMemory, extraction_settings
from .store import MemoryStore
from .sweeping import MemorySweeper


def add_memory(context: ServiceContext, capabilities: Capabilities) -> Callable[[], None]:
    """Add memories, their events and long-term records; return what starts their work in the background."""
    store = MemoryStore(context.home)
    sweeper = MemorySweeper(store, clock=ExpiryClock("memory event"))
    logs = MemoryLogs(context.telemetry.logs, context.resources, context.telemetry.deliveries.groups)
    long_term = LongTermMemory(
        context.home, store, MemoryDirectory(context.resources), extraction_settings(context.state), logs.extracted
    )

    def on_deleted(memory_id: str) -> None:
        sweeper.wake(memory_id)
        long_term.forget(memory_id)

    def start() -> None:
        sweeper.start()
        long_term.resume()

    capabilities.resources.append((MEMORY, MemoryBehaviour(on_deleted=on_deleted)))
    capabilities.data_components += [EventPlane(store, on_event=long_term.wake), *long_term.planes]
    capabilities.closing.callback(store.close)
    capabilities.closing.push_async_callback(long_term.close)
    capabilities.closing.callback(sweeper.close)
    return start
