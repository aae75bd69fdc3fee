"""Embedding models in their own formats: Amazon Titan and Cohere.

The vectors are *simulated*: those of `loomlib.embeddings`, with 256 numbers and length 1, padded with zeros to the
model's size, which does not change any similarity.

Source: Amazon Bedrock user guide, "Amazon Titan Embeddings text models" and "Cohere Embed models".
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from loomlib.embeddings import embed

from ..json_values import JsonObject, as_list, as_text, as_texts
from ..refusals import invalid
from ..tokens import estimate_tokens

_Numbers = list[float] | list[int]
_SIZES: Final = (256, 512, 1024)
_SIZE_V1: Final = 1536
_TITAN_MEMBERS: Final = {"v1": ("inputText",), "v2": ("inputText", "dimensions", "normalize", "embeddingTypes")}
_MOST_CHARACTERS: Final = 50_000
_SIZE_COHERE: Final = 1024
_SIZES_COHERE_V4: Final = (256, 512, 1024, 1536)
_MOST_TEXTS: Final = 96
_INPUT_TYPES: Final = ("search_document", "search_query", "classification", "clustering")


def is_embedding(model_id: str) -> bool:
    """Return whether a model creates embeddings of texts."""
    return ("amazon.titan-embed-" in model_id and "image" not in model_id) or "cohere.embed" in model_id


def answer_embedding(model_id: str, body: JsonObject) -> JsonObject:
    """Answer InvokeModel of an embedding model.

    Args:
        model_id: The requested model.
        body: The parsed body.

    Raises:
        ModelRefusedError: The body has no text, or requests a feature that the model does not have.
    """
    return _cohere(model_id, body) if "cohere.embed" in model_id else _titan(model_id, body)


def _titan(model_id: str, body: JsonObject) -> JsonObject:
    version = "v2" if "v2" in model_id else "v1"
    if extraneous := [name for name in body if name not in _TITAN_MEMBERS[version]]:
        raise invalid(f"Malformed input request: #: extraneous key [{extraneous[0]}] is not permitted")
    text = as_text(body.get("inputText"))
    if not text:
        raise invalid("Malformed input request: inputText is missing")
    if len(text) > _MOST_CHARACTERS:
        raise invalid(
            f"Malformed input request: inputText has {len(text):,} characters, but the limit is {_MOST_CHARACTERS:,}"
        )
    tokens = estimate_tokens(text)
    if version == "v1":
        return {"embedding": _vector(text, _SIZE_V1), "inputTextTokenCount": tokens}
    if not isinstance(body.get("normalize", True), bool):
        raise invalid("Malformed input request: normalize is neither true nor false")
    vector = _vector(text, _size(body.get("dimensions", 1024), _SIZES, "dimensions"))
    forms: dict[str, Callable[[list[float]], _Numbers]] = {"float": list, "binary": _signs}
    types = _types(body, "embeddingTypes", forms)
    by_type = {name: forms[name](vector) for name in types}
    whole = {"embedding": vector} if "float" in types else {}
    return {**whole, "embeddingsByType": by_type, "inputTextTokenCount": tokens}


def _cohere(model_id: str, body: JsonObject) -> JsonObject:
    texts = as_texts(body.get("texts"))
    if not texts or len(texts) != len(as_list(body.get("texts"))):
        raise invalid(
            "Malformed input request: texts is missing, or is not a list of strings; images are not supported here"
        )
    if len(texts) > _MOST_TEXTS:
        raise invalid(f"Malformed input request: texts has {len(texts)} items, but the limit is {_MOST_TEXTS}")
    if body.get("input_type") not in _INPUT_TYPES:
        raise invalid(f"Malformed input request: input_type must be one of {', '.join(_INPUT_TYPES)}")
    size = _SIZE_COHERE
    if "embed-v4" in model_id:
        size = _size(body.get("output_dimension", _SIZES_COHERE_V4[-1]), _SIZES_COHERE_V4, "output_dimension")
    vectors = [_vector(text, size) for text in texts]
    head: JsonObject = {"id": "local", "texts": list(texts)}
    if "embedding_types" not in body:
        return {**head, "response_type": "embeddings_floats", "embeddings": vectors}
    forms: dict[str, Callable[[list[float]], _Numbers]] = {
        "float": list,
        "int8": lambda vector: [round(127 * number) for number in vector],
        "uint8": lambda vector: [round(127.5 * (number + 1)) for number in vector],
        "binary": lambda vector: [byte - 128 for byte in _bytes(vector)],
        "ubinary": _bytes,
    }
    types = _types(body, "embedding_types", forms)
    by_type = {name: [forms[name](vector) for vector in vectors] for name in types}
    return {**head, "response_type": "embeddings_by_type", "embeddings": by_type}


def _size(size: object, sizes: tuple[int, ...], name: str) -> int:
    if not isinstance(size, int) or size not in sizes:
        raise invalid(f"Malformed input request: {name} must be one of {', '.join(map(str, sizes))}")
    return size


def _types(body: JsonObject, name: str, encoders: dict[str, Callable[[list[float]], _Numbers]]) -> tuple[str, ...]:
    types = as_texts(body.get(name, ["float"]))
    if not types or len(types) != len(as_list(body.get(name, ["float"]))) or not set(types) <= set(encoders):
        raise invalid(f"Malformed input request: {name} must be a list of {', '.join(encoders)}")
    return types


def _vector(text: str, size: int) -> list[float]:
    vector: list[float] = embed([text])[0].tolist()
    return [*vector, *[0.0] * (size - len(vector))]


def _signs(vector: list[float]) -> list[int]:
    return [int(number > 0) for number in vector]


def _bytes(vector: list[float]) -> list[int]:
    signs = "".join(map(str, _signs(vector)))
    return list(int(signs, 2).to_bytes(len(signs) // 8, "big"))
