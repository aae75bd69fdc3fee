"""A hub: JupyterHub for a class or a team on one machine, each user with an own local AgentCore.

Examples:
    In `jupyterhub_config.py`, which `loom hub init` writes:

    >>> from loomlib.hub import HubSettings, configure
    >>> configure(c, HubSettings(folder="/srv/hub", host="hub.example.org"))
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
