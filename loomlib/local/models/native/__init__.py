"""InvokeModel and InvokeModelWithResponseStream: bodies in a model's own format, answered through Converse."""

from .invoking import invoke_model, invoke_model_stream

__all__ = ["invoke_model", "invoke_model_stream"]
