"""Forgetting an actor: previewed first, verified after."""

from .execution import MAY_STILL_HOLD, Forgotten
from .preview import ForgetPreview, ToForget, preview_forgetting

__all__ = ["MAY_STILL_HOLD", "ForgetPreview", "Forgotten", "ToForget", "preview_forgetting"]
