"""Extraction of long-term memory: closed turns become records, in a process of its own."""

from .process import ExtractionProcess, ExtractionSettings

__all__ = ["ExtractionProcess", "ExtractionSettings"]
