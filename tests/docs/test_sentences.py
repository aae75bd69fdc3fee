"""`make sentences`: the texts that it finds in each kind of source, and that it finds the project's own."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import pytest

SCRIPT = Path(__file__).resolve().parents[2] / "docs" / "sentences.py"


@pytest.fixture(scope="module")
def sentences() -> ModuleType:
    """The script as a module."""
    spec = importlib.util.spec_from_file_location("loom_docs_sentences", SCRIPT)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def test_python_yields_errors_with_their_parts_help_and_labels_but_no_docstrings(sentences: ModuleType) -> None:
    source = '''
@click.command()
@click.option("--to", help="Folder of the files.")
def save(to):
    """Save the files."""
    raise StoreError(f"The file {name} is damaged", on=str(path), try_="another file")

def load():
    """Load what is not a command."""
    query = "SELECT id FROM runs"
    values = cast("dict[str, Any]", read())
    return "There is nothing to load"
'''
    found_sentences = [(kind, text) for _, kind, text in sentences.python_sentences(source)]
    assert sorted(found_sentences) == [
        ("error", "The file {name} is damaged | {str(path)} | another file"),
        ("help", "--to | Folder of the files."),
        ("help", "Save the files."),
        ("text", "There is nothing to load"),
    ]


def test_templates_scripts_and_data_yield_texts_with_their_fields(sentences: ModuleType) -> None:
    template = (
        '<p class="a b">Took {{ seconds | number }} s</p>{# for nobody #}\n<button title="Read the trace"></button>'
    )
    assert [(line, text) for line, _, text in sentences.template_sentences(template)] == [
        (2, "Read the trace"),
        (1, "Took {seconds | number} s"),
    ]
    script = "// a comment that nobody sees\nsay(`Read ${count} of the rows`, 'x');"
    assert list(sentences.script_sentences(script)) == [(2, "panel", "Read {count} of the rows")]
    data = 'number = 3\ntitle = "The tool is slow"\n'
    assert list(sentences.data_sentences(data)) == [(2, "data", "The tool is slow")]


def test_the_sentences_of_a_package_have_their_place(sentences: ModuleType) -> None:
    package_sentences = list(sentences.all_sentences(["loomlib/alerts"]))
    assert {sentences.package_of(sentence.path) for sentence in package_sentences} == {"loomlib/alerts"}
    assert any("no data in this period" in sentence.text for sentence in package_sentences)
