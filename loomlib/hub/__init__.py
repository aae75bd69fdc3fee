"""A hub: JupyterHub for a class or a team on one machine, each user with their own local AgentCore.

`loom hub init FOLDER` writes the settings and a `jupyterhub_config.py` that calls `configure`.

Examples:
    >>> from loomlib.hub import check_hub, read_settings
    >>> [check.name for check in check_hub(read_settings("/srv/hub")) if not check.ok]
"""

from .certificate import HubCertificate, make_certificate, read_certificate
from .checks import HubCheck, check_hub
from .configuration import configure, hub_environment
from .folder import prepare_folder, read_settings
from .settings import HubSettings
from .user_files import copy_lessons

__all__ = [
    "HubCertificate",
    "HubCheck",
    "HubSettings",
    "check_hub",
    "configure",
    "copy_lessons",
    "hub_environment",
    "make_certificate",
    "prepare_folder",
    "read_certificate",
    "read_settings",
]
