"""MCP Apps: views of tools, and the only channel over which a view's frame can communicate."""

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
