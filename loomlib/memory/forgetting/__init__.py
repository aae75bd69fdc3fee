"""Delete all data of an actor from a memory: previewed first, verified afterwards."""

from ...dispatch import register
from .preview import ForgetCount, ForgetPreview, preview_forgetting
from .result import MAY_STILL_HOLD, ForgetResult

register("ForgetPreview.confirm", "loomlib.memory.forgetting.execution:forget_all")

__all__ = ["MAY_STILL_HOLD", "ForgetCount", "ForgetPreview", "ForgetResult", "preview_forgetting"]
