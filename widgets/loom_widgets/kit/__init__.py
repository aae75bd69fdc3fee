"""Parts that all panels share: the widget with actions, lanes and streams, the script and the style."""

from loomlib.deprecation import renamed_names

from .actions import ActionCancelledError, Cancel, Form, action
from .panel import Panel
from .port import PanelPort
from .stream import Stream

__all__ = ["ActionCancelledError", "Cancel", "Form", "Panel", "PanelPort", "Stream", "action"]

__getattr__ = renamed_names(__name__, {"Cancelled": "ActionCancelledError"})
