"""Agents for LangGraph."""

from __future__ import annotations

from typing import Final

from .framework import Framework

LANGGRAPH: Final = Framework(
    name="langgraph",
    title="LangGraph",
    modules=("model_loop.py", "tools.py", "tracing.py"),
    requirements=("langchain-aws>=1.9", "langgraph>=1.2", "openinference-instrumentation-langchain>=0.1.80"),
    starts_tracing=True,
    notes={
        "short_term_memory": "The graph's checkpoints store a waiting turn; the session stores the messages.",
        "traces": "OpenInference's instrumentation of LangChain records them.",
    },
)
