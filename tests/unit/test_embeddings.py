"""Vectors of texts: offline, the same every time, and the ones that the library itself computes."""

from __future__ import annotations

import json
import logging
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from loomlib.embeddings import DIMENSIONS, MODEL_NAME, embed, similarity

TEXTS = ["Order 7 is shipped.", "Your parcel 7 has been sent.", "The capital of France is Paris.", "東京は晴れ"]


def test_vectors_are_unit_vectors_of_the_stated_size() -> None:
    vectors = embed(TEXTS)
    assert vectors.shape == (4, DIMENSIONS)
    assert vectors.dtype == np.float32
    assert np.allclose(np.linalg.norm(vectors, axis=1), 1.0, atol=1e-6)
    assert embed([]).shape == (0, DIMENSIONS)
    assert "256" in MODEL_NAME


def test_what_means_the_same_lies_closer() -> None:
    assert similarity(TEXTS[0], TEXTS[1]) > similarity(TEXTS[0], TEXTS[2]) + 0.1
    assert similarity(TEXTS[0], TEXTS[0]) == pytest.approx(1.0, abs=1e-6)
    assert similarity(TEXTS[0], TEXTS[2]) == similarity(TEXTS[2], TEXTS[0])


def test_the_same_text_gives_the_same_bytes_in_any_company_and_thread() -> None:
    alone = embed([TEXTS[0]])[0].tobytes()
    assert embed([*TEXTS[1:], "x " * 3_000, TEXTS[0]])[-1].tobytes() == alone
    with ThreadPoolExecutor(4) as pool:
        assert {row.tobytes() for row in pool.map(lambda _: embed([TEXTS[0]])[0], range(16))} == {alone}


def test_the_vectors_are_those_of_the_library() -> None:
    script = (
        "import sys, json, numpy as np, wordllama\n"
        "from pathlib import Path\n"
        "from tokenizers import Tokenizer\n"
        "from safetensors import safe_open\n"
        "from wordllama.inference import WordLlamaInference\n"
        "home = Path(wordllama.__file__).parent\n"
        "words = Tokenizer.from_file(str(home / 'tokenizers' / 'l2_supercat_tokenizer_config.json'))\n"
        "with safe_open(home / 'weights' / 'l2_supercat_256.safetensors', framework='np') as f:\n"
        "    weights = f.get_tensor('embedding.weight')\n"
        "print(json.dumps(WordLlamaInference(weights, words).embed(json.loads(sys.argv[1]), norm=True).tolist()))\n"
    )
    texts = [*TEXTS, "word " * 5_000]
    out = subprocess.run([sys.executable, "-c", script, json.dumps(texts)], capture_output=True, text=True, check=True)
    assert np.allclose(embed(texts), np.array(json.loads(out.stdout)), atol=1e-3)
    assert np.allclose(embed(TEXTS), np.array(json.loads(out.stdout))[:4], atol=1e-6)


def test_nothing_is_looked_up_and_no_logger_is_touched() -> None:
    script = (
        "import logging, socket\n"
        "def refused(*a, **k): raise AssertionError('the network was asked')\n"
        "socket.socket.connect = socket.getaddrinfo = socket.create_connection = refused\n"
        "import loomlib.embeddings as e, sys\n"
        "assert 'numpy' not in sys.modules and 'tokenizers' not in sys.modules\n"
        "e.embed(['a'])\n"
        "assert not logging.getLogger().handlers and 'requests' not in sys.modules\n"
    )
    nowhere = {"HF_HUB_OFFLINE": "1", "HOME": "/nonexistent", "PATH": ""}
    subprocess.run([sys.executable, "-c", script], check=True, env=nowhere)
    assert logging.getLogger().level != logging.INFO


@pytest.mark.parametrize(
    "text", ["", "  \n", "\x00", "\ud800", "\x1b[31mred", "<script>alert(1)</script>", "a" * 30_000, " b" * 9_000]
)
def test_any_text_has_a_vector(text: str) -> None:
    length = float(np.linalg.norm(embed([text])))
    assert length == pytest.approx(1.0 if text.strip() else 0.0, abs=1e-5)


def test_a_text_without_words_is_like_nothing_but_itself() -> None:
    assert similarity("", " ") == 1.0
    assert similarity("", "Order 7") == 0.0


def test_one_text_alone_is_refused() -> None:
    with pytest.raises(TypeError, match=r"embed\(\[text\]\)"):
        embed("Order 7")


def test_without_the_extra_the_error_names_what_to_install() -> None:
    script = (
        "import sys\n"
        "class Nowhere:\n"
        "    def find_spec(self, name, path=None, target=None):\n"
        "        if name == 'tokenizers': raise ModuleNotFoundError('No module', name=name)\n"
        "sys.meta_path.insert(0, Nowhere())\n"
        "from loomlib.embeddings import embed\n"
        "from loomlib.errors import MissingExtraError\n"
        "try: embed(['a'])\n"
        "except MissingExtraError as error: print(error)\n"
    )
    out = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert out.stdout == "Embeddings need tokenizers. Try: pip install 'loomlib[evals]'\n"
