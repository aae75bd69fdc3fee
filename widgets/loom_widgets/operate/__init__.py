"""The parts of the Operate panel."""

from .alert_actions import AlertActions
from .span import Span, span_of

__all__ = ["AlertActions", "Span", "span_of"]
