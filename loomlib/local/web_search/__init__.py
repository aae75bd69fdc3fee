"""Web search of the local AgentCore: it is offline, so it searches a folder of pages, or reports that there is none."""

from .corpus import PageFilter, PageResult, WebCorpus, WebSearchOffError
from .plane import WebSearchPlane

__all__ = ["PageFilter", "PageResult", "WebCorpus", "WebSearchOffError", "WebSearchPlane"]
