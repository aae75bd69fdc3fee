"""Text embeddings, computed offline: texts of similar meaning have similar vectors."""

from .vectors import DIMENSIONS, MODEL_NAME, embed, similarity

__all__ = ["DIMENSIONS", "MODEL_NAME", "embed", "similarity"]
