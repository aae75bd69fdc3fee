"""The protocols that runtimes speak: HTTP, MCP, A2A and AG-UI, each with its port, path, headers and error form."""

from .configuration import Served, check_protocol, served
from .error_forms import AgentStatusError, keeps_aws_form, protocol_error
from .headers import MCP_SESSION, SESSION_HEADER, TRACE_HEADERS, agent_headers, check_header_allowlist
from .mcp import McpSessionIds, check_accept, json_rpc_method

__all__ = [
    "MCP_SESSION",
    "SESSION_HEADER",
    "TRACE_HEADERS",
    "AgentStatusError",
    "McpSessionIds",
    "Served",
    "agent_headers",
    "check_accept",
    "check_header_allowlist",
    "check_protocol",
    "json_rpc_method",
    "keeps_aws_form",
    "protocol_error",
    "served",
]
