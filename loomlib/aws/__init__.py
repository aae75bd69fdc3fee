"""AWS: connections and clients, errors translated once, the measured transport. The only room that knows botocore."""

from .connection import Clients, Connection
from .engine import Engine, shared_engine
from .errors import translated

__all__ = ["Clients", "Connection", "Engine", "shared_engine", "translated"]
