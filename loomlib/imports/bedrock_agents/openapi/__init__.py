"""OpenAPI documents of action groups: read from JSON or YAML, and turned into tools."""

from .documents import ApiDocumentError, parse_document, plain_json
from .operations import ApiTools, api_tools
from .references import References

__all__ = ["ApiDocumentError", "ApiTools", "References", "api_tools", "parse_document", "plain_json"]
