"""Embedding models in their own formats: Amazon Titan and Cohere.

The vectors are *simulated*: those of `loomlib.embeddings`, of 256 numbers, followed by zeros up to the size that the
model has, which leaves every similarity as it is.

Source: Amazon Bedrock user guide, "Amazon Titan Embeddings text models" and "Cohere Embed models".
"""

from __future__ import annotations

from typing import Final

from loomlib.embeddings import embed

from ..json_values import JsonObject, as_list, as_text, as_texts
from ..refusals import invalid
from ..tokens import estimate_tokens

_SIZES: Final = (256, 512, 1024)
_SIZE_V1: Final = 1536
_SIZE_COHERE: Final = 1024


def is_embedding(model_id: str) -> bool:
    """Return whether a model makes embeddings."""
    return "amazon.titan-embed-text" in model_id or "cohere.embed" in model_id


def answer_embedding(model_id: str, body: JsonObject) -> JsonObject:
    """Answer InvokeModel of an embedding model.

    Args:
        model_id: The model that is asked for.
        body: The parsed body.

    Raises:
        ModelRefusedError: The body has no text, or a size that the model lacks.
    """
    if "cohere.embed" in model_id:
        texts = as_texts(body.get("texts"))
        if not texts or len(texts) != len(as_list(body.get("texts"))):
            raise invalid("Malformed input request: texts is missing, or is no list of texts")
        return {
            "embeddings": [_vector(text, _SIZE_COHERE) for text in texts],
            "id": "local",
            "response_type": "embeddings_floats",
            "texts": list(texts),
        }
    text = as_text(body.get("inputText"))
    if not text:
        raise invalid("Malformed input request: inputText is missing")
    size = body.get("dimensions", 1024) if "v2" in model_id else _SIZE_V1
    if size not in (*_SIZES, _SIZE_V1):
        raise invalid(f"Malformed input request: dimensions must be one of {', '.join(map(str, _SIZES))}")
    vector = _vector(text, int(str(size)))
    return {"embedding": vector, "embeddingsByType": {"float": vector}, "inputTextTokenCount": estimate_tokens(text)}


def _vector(text: str, size: int) -> list[float]:
    vector: list[float] = embed([text])[0].tolist()
    return [*vector, *[0.0] * (size - len(vector))]
