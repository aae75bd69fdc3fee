"""Forgetting an actor: previewed first, verified afterwards."""

from ...dispatch import register
from .forgotten import MAY_STILL_HOLD, Forgotten
from .preview import ForgetPreview, ToForget, preview_forgetting

register("ForgetPreview.confirm", "loomlib.memory.forgetting.execution:forget_all")

__all__ = ["MAY_STILL_HOLD", "ForgetPreview", "Forgotten", "ToForget", "preview_forgetting"]
