"""Presidio's analyzer on the corpus that standard input holds as JSON lines; prints counts by kind as JSON.

Names, places, dates and addresses of pages are not counted as mistakes: Presidio finds them, and the corpus does not
label them.
"""

from __future__ import annotations

import json
import sys
import time

import spacy.util
from presidio_analyzer import AnalyzerEngine
from presidio_analyzer.nlp_engine import NlpEngineProvider

_UNLABELLED = {"PERSON", "LOCATION", "NRP", "DATE_TIME", "URL", "ORGANIZATION"}


def main() -> None:
    model = next(name for name in spacy.util.get_installed_models() if name.startswith("en_core_web"))
    configuration = {"nlp_engine_name": "spacy", "models": [{"lang_code": "en", "model_name": model}]}
    engine = AnalyzerEngine(nlp_engine=NlpEngineProvider(nlp_configuration=configuration).create_engine())
    texts = [json.loads(line) for line in sys.stdin]
    hits: dict[str, int] = {}
    mistakes = 0
    engine.analyze(text=texts[0]["text"], language="en")
    began = time.perf_counter()
    for labelled in texts:
        matches = engine.analyze(text=labelled["text"], language="en", score_threshold=0.35)
        for kind, start, end in labelled["values"]:
            hits[kind] = hits.get(kind, 0) + any(match.start <= start and end <= match.end for match in matches)
        mistakes += sum(
            match.entity_type not in _UNLABELLED
            and not any(match.start < end and start < match.end for _, start, end in labelled["values"])
            for match in matches
        )
    print(json.dumps({"hits": hits, "mistakes": mistakes, "took_s": time.perf_counter() - began}))


main()
