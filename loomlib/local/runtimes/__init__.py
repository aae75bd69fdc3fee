"""Runtimes: their resources, the deployment of their packages, and the invocation of their sessions."""
