"""The scripted model: simulated, deterministic, without weights.

It reads tool schemas, calls the tools that fit a prompt with arguments from its text, and answers from their results.
Data for a single blueprint is in that blueprint's `script.toml` (see `script`).
"""

from .reply import scripted_reply

__all__ = ["scripted_reply"]
