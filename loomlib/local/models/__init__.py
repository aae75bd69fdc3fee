"""Model requests: Bedrock's Converse and ConverseStream, answered by a scripted model or by a real one at a URL.

The model of a plugin is a `ConverseModel`: it creates a `Reply`, and `body_of`, `stream_of` and `metadata_frame`
convert the reply to the two wire forms of Converse.
"""

from loomlib.deprecation import renamed_names

from .profiles import PROFILES, LatencyProfile
from .refusals import ModelRefusedError
from .registry import ConverseModel, make_model
from .reply import Reply, body_of, metadata_frame, stream_of

__all__ = [
    "PROFILES",
    "ConverseModel",
    "LatencyProfile",
    "ModelRefusedError",
    "Reply",
    "body_of",
    "make_model",
    "metadata_frame",
    "stream_of",
]

__getattr__ = renamed_names(__name__, {"ModelRefused": "ModelRefusedError"})
