"""Vectors of texts, made offline: what means the same lies close together."""

from .vectors import DIMENSIONS, MODEL_NAME, embed, similarity

__all__ = ["DIMENSIONS", "MODEL_NAME", "embed", "similarity"]
