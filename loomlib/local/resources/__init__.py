"""The control plane's resources: create, get, list, update and delete, declared as data over botocore's service model.

Import `engine` and `store` from their modules: they import moto, which the process that extracts long-term memory does
not need.
"""

from .attaching import FILE_NAME, attach
from .behaviour import Behaviour, Draft, ProvisioningError
from .declaration import Resource
from .naming import Place, new_id, place_of
from .records import ResourceRecord

__all__ = [
    "FILE_NAME",
    "Behaviour",
    "Draft",
    "Place",
    "ProvisioningError",
    "Resource",
    "ResourceRecord",
    "attach",
    "new_id",
    "place_of",
]
