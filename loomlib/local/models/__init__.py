"""Model calls: Bedrock's Converse and ConverseStream, answered by a scripted model or a real one behind an address."""

from loomlib.local.models.profiles import PROFILES, LatencyProfile
from loomlib.local.models.refusals import ModelRefused
from loomlib.local.models.registry import ConverseModel
from loomlib.local.models.room import ModelRoom

__all__ = ["PROFILES", "ConverseModel", "LatencyProfile", "ModelRefused", "ModelRoom"]
