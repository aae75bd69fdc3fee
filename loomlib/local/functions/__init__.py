"""Lambda functions of the local AWS: moto stores them, and their code runs in isolated processes."""

from .plane import FunctionPlane
from .pool import FunctionPool
from .versions import find_version

__all__ = ["FunctionPlane", "FunctionPool", "find_version"]
