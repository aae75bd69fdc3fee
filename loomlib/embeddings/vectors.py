"""Texts as unit vectors: the mean of their tokens' vectors, from the weights and tokenizer in wordllama's wheel.

The wheel's files are read directly. wordllama itself looks for its bundled tokenizer in a folder that does not exist
and then downloads it, and importing it configures the root logger; neither is acceptable in an offline notebook. The
vectors are identical to wordllama's.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from ..errors import MissingExtraError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

MODEL_NAME: Final = "wordllama l2_supercat_256"
"""Name of the model, shown as a label beside every number derived from these vectors."""

DIMENSIONS: Final = 256
_PIECE_CHARACTERS: Final = 4_096  # the tokenizer's time grows faster than a text's length
_INSTALL: Final = "pip install 'loomlib[evals]'"


def embed(texts: Sequence[str]) -> NDArray[np.float32]:
    """Return one unit vector for each text.

    Needs no network. The first call loads the model (about 0.3 s, 18 MB). Thread-safe; the same text gives the same
    bytes, whatever else is in the batch.

    Returns:
        An array of shape (n, 256). A text without words is the zero vector.

    Raises:
        MissingExtraError: The extra `evals` is not installed.

    Examples:
        >>> embed(["Where is my order?", "Has the parcel been sent?"]).shape
        (2, 256)
    """
    if isinstance(texts, str):
        raise TypeError("embed takes a list of texts: embed([text])")
    model = _model()
    import numpy as np

    rows = np.zeros((len(texts), DIMENSIONS), dtype=np.float32)
    for row, text in zip(rows, texts, strict=True):
        model.fill(row, text)
    return rows


def similarity(a: str, b: str) -> float:
    """Return the cosine similarity of two texts: 1 for the same direction, near 0 for unrelated texts.

    Two texts without words are equal (1); a text without words is not similar to any other (0).
    """
    first, second = embed([a, b])
    if not first.any() or not second.any():
        return 1.0 if not first.any() and not second.any() else 0.0
    return max(-1.0, min(1.0, float(first @ second)))


@dataclass(frozen=True, slots=True)
class _Model:
    tokenizer: Any
    weights: NDArray[np.float16]

    def fill(self, row: NDArray[np.float32], text: str) -> None:
        import numpy as np

        count = 0
        for piece in _pieces(text):
            ids = np.array(self.tokenizer.encode(piece, add_special_tokens=False).ids, dtype=np.int64)
            row += self.weights[ids].sum(axis=0, dtype=np.float32)
            count += len(ids)
        length = float(np.linalg.norm(row)) if count else 0.0
        if length:
            row /= length


def _pieces(text: str) -> Iterator[str]:
    """Split a long text between words, so that no token is lost; lone surrogates become question marks."""
    if not text.strip():
        return
    text = text.encode("utf-8", "replace").decode("utf-8")
    start = 0
    while len(text) - start > _PIECE_CHARACTERS:
        cut = text.rfind(" ", start + 1, start + _PIECE_CHARACTERS)
        end = cut if cut > 0 else start + _PIECE_CHARACTERS
        yield text[start:end]
        start = end + (cut > 0)  # the tokenizer puts a space before each text
    yield text[start:]


_lock = threading.Lock()


def _model() -> _Model:
    with _lock:
        return _loaded()


@lru_cache(maxsize=1)
def _loaded() -> _Model:
    spec = find_spec("wordllama")
    if spec is None or spec.origin is None:
        raise MissingExtraError("Embeddings need wordllama", try_=_INSTALL)
    folder = Path(spec.origin).parent
    weights = folder / "weights" / "l2_supercat_256.safetensors"
    words = folder / "tokenizers" / "l2_supercat_tokenizer_config.json"
    try:
        from safetensors import safe_open
        from tokenizers import Tokenizer
    except ModuleNotFoundError as error:
        raise MissingExtraError(f"Embeddings need {error.name}", try_=_INSTALL) from error
    missing = [file.name for file in (weights, words) if not file.is_file()]
    if missing:
        raise MissingExtraError(
            f"The installed wordllama lacks {' and '.join(missing)}",
            try_="pip install --force-reinstall 'wordllama>=0.4'",
        )
    opened: Any = safe_open(weights, framework="numpy")
    with opened as file:
        vectors: NDArray[np.float16] = file.get_tensor("embedding.weight")
    return _Model(Tokenizer.from_file(str(words)), vectors)
