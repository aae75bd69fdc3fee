"""AgentCore Browser as a capability of the service."""

from __future__ import annotations

from ..capabilities import Capabilities, ServiceContext
from .actions import BrowserActions
from .plane import BrowserPlane
from .resources import BROWSER, BROWSER_PROFILE, BrowserBehaviour, ProfileBehaviour
from .streams import BrowserStreams


def add_browsers(context: ServiceContext, capabilities: Capabilities) -> BrowserStreams:
    """Add browsers, their profiles and their sessions; return the streams of sessions."""
    browsers = BrowserPlane(
        context.resources,
        context.sessions.shared,
        context.telemetry.spans,
        home=context.home,
        url=context.state.url,
    )
    capabilities.resources += [
        (BROWSER, BrowserBehaviour(browsers.end_browser)),
        (BROWSER_PROFILE, ProfileBehaviour(context.home)),
    ]
    capabilities.data_components += [browsers, BrowserActions(browsers)]
    capabilities.stopping.push_async_callback(browsers.close)
    return BrowserStreams(browsers)
