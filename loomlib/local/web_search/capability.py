"""AgentCore's web search as a capability of the service."""

from __future__ import annotations

from pathlib import Path

from ..capabilities import Capabilities, ServiceContext
from .corpus import WebCorpus
from .plane import WebSearchPlane


def add_web_search(context: ServiceContext, capabilities: Capabilities) -> WebCorpus:
    """Add web search; return the pages that it searches."""
    folder = context.options.web_search_folder
    corpus = WebCorpus(Path(folder) if folder else None)
    capabilities.data_components.append(WebSearchPlane(corpus))
    return corpus
