"""MCP Apps: the views of tools, and the channel through which a view's frame communicates."""

from .channel import FrameChannel
from .documents import VIEW_CSP, VIEW_SANDBOX, frame_document
from .views import MIME_TYPE, AppView, is_view, read_view, tool_call_payload, tool_result_of

__all__ = [
    "MIME_TYPE",
    "VIEW_CSP",
    "VIEW_SANDBOX",
    "AppView",
    "FrameChannel",
    "frame_document",
    "is_view",
    "read_view",
    "tool_call_payload",
    "tool_result_of",
]
