"""AgentCore Browser: sessions of a headless Chromium, isolated in the same way as agents' sessions."""

from .actions import BrowserActions
from .plane import BrowserPlane
from .resources import BROWSER, BROWSER_PROFILE, BrowserBehaviour, ProfileBehaviour
from .streams import PREFIX, BrowserStreams, StreamPath

__all__ = [
    "BROWSER",
    "BROWSER_PROFILE",
    "PREFIX",
    "BrowserActions",
    "BrowserBehaviour",
    "BrowserPlane",
    "BrowserStreams",
    "ProfileBehaviour",
    "StreamPath",
]
