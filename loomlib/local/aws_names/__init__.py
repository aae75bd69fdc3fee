"""AWS's own addresses, for code that spells them out: a proxy on loopback that answers for them with TLS.

Clients that read no endpoint variable (httpx, requests, MCP, A2A and WebSocket clients) build addresses such as
`https://bedrock-agentcore.us-east-1.amazonaws.com/runtimes/…`. They do read `HTTPS_PROXY` and the variables that name
trusted certificates, so `loom up --export` sets those. Requests to other addresses are passed on unread.
"""
