"""Releases of an agent: versions, endpoints that serve them, differences, A/B tests, and removal."""
