"""Parts that all panels share: the widget with actions, lanes and streams, the script and the style."""

from .actions import Cancel, Cancelled, Form, action
from .panel import Panel
from .stream import Stream

__all__ = ["Cancel", "Cancelled", "Form", "Panel", "Stream", "action"]
