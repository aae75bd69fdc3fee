"""What every panel stands on: the widget with its actions, lanes and streams, and the script and style it shares."""

from .actions import Cancel, Cancelled, Form, action
from .panel import Panel
from .stream import Stream

__all__ = ["Cancel", "Cancelled", "Form", "Panel", "Stream", "action"]
