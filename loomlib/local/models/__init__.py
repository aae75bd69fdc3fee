"""Model calls: Bedrock's Converse and ConverseStream, answered by a scripted model or a real one behind an address.

A plugin's model is a `ConverseModel`: it makes a `Reply`, and `body_of`, `stream_of` and `metadata_frame` put it into
Converse's two wire forms.
"""

from loomlib.local.models.frames import body_of, metadata_frame, stream_of
from loomlib.local.models.profiles import PROFILES, LatencyProfile
from loomlib.local.models.refusals import ModelRefused
from loomlib.local.models.registry import ConverseModel
from loomlib.local.models.reply import Reply
from loomlib.local.models.room import ModelRoom

__all__ = [
    "PROFILES",
    "ConverseModel",
    "LatencyProfile",
    "ModelRefused",
    "ModelRoom",
    "Reply",
    "body_of",
    "metadata_frame",
    "stream_of",
]
