"""Print every sentence that a user of Loom can see, by package, for review as text.

    python docs/sentences.py [PART OF A PATH …]

Listed are the texts of errors (what failed | on what | what to try), warnings, the command line's help, labels and
sentences in Python, templates, scripts of panels and TOML data. Fields of a text are shown as {name}. Docstrings are in
the reference of the documentation instead, except those of commands, which are their help.
"""

from __future__ import annotations

import ast
import re
import sys
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from pathlib import Path
from typing import Final, NamedTuple

ROOT: Final = Path(__file__).resolve().parent.parent
SOURCES: Final = ("loomlib", "widgets/loom_widgets")
NOT_LISTED: Final = ("blueprints", "migrations", "plotly-", "facts_pool", "__pycache__")

_WORDS: Final = re.compile(r"[A-Za-z][a-z’']+[,.:;)]? +[(“]?([A-Za-z{][a-z’'_]*)")
_CODE: Final = re.compile(
    r"^<[a-z!?]"
    r"|^(SELECT|INSERT|UPDATE|DELETE|CREATE|PRAGMA|DROP|ALTER|VACUUM|filter |fields |import |from |var\(|\.[a-z])"
    r"|\\[sdwb(]|\(\?[:P=!i]|[{;]\s*\n|^[a-z-]+: [^.]*;$|^[\w.-]+( [\w.-]+)?, [\w.]+\.[\w.]+",
    re.MULTILINE,
)
_SCRIPT_TEXT: Final = re.compile(
    r'"(?:[^"\\\n]|\\.)*"|`(?:[^`\\]|\\.)*`|\'(?:[^\'\\\n]|\\.)*\'|//[^\n]*|/\*.*?\*/', re.DOTALL
)
_SHOWN_ATTRIBUTE: Final = re.compile(r'(?:title|aria-label|placeholder|alt)="([^"]+)"')


class Sentence(NamedTuple):
    """A text with the place where it is written.

    Attributes:
        path: The file, relative to the project.
        line: The line in the file.
        kind: "error", "warning", "help", "text", "template", "panel" or "data".
        text: The text; fields are {name}.
    """

    path: Path
    line: int
    kind: str
    text: str


def main(parts: Sequence[str]) -> int:
    """Print the sentences of the files whose path contains one of `parts`, or of all."""
    count = 0
    for package, sentences in groupby(all_sentences(parts), key=lambda sentence: package_of(sentence.path)):
        print(f"\n{package}\n{'=' * len(package)}")
        for sentence in sentences:
            count += 1
            print(f"{sentence.path}:{sentence.line}: {sentence.kind}: {sentence.text}")
    print(f"\n{count} sentences")
    return 0


def all_sentences(parts: Sequence[str] = ()) -> Iterator[Sentence]:
    """Yield the sentences of all sources, in the order of their paths and lines."""
    for source in SOURCES:
        for file in sorted((ROOT / source).rglob("*")):
            path = file.relative_to(ROOT)
            read = _READERS.get(file.suffix)
            if read is None or any(part in str(path) for part in NOT_LISTED):
                continue
            if not parts or any(part in str(path) for part in parts):
                text = file.read_text(encoding="utf-8")
                yield from sorted({Sentence(path, *found) for found in read(text)}, key=lambda item: item.line)


def package_of(path: Path) -> str:
    """Return the package of a file: the first two folders of its path, without the file."""
    return "/".join(path.parent.parts[:3] if path.parts[0] == "widgets" else path.parent.parts[:2])


def is_sentence(text: str) -> bool:
    """Return whether a text has at least two words and is not code."""
    return bool(_WORDS.search(text)) and not _CODE.search(text)


def python_sentences(source: str) -> Iterator[tuple[int, str, str]]:
    """Yield (line, kind, text) of a Python file."""
    tree = ast.parse(source)
    listed: set[int] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.Module):
            first = node.body[0] if node.body else None
            if isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant):
                listed.add(id(first.value))
                help_text = str(first.value.value).split("\f")[0].strip()
                if not isinstance(node, ast.Module) and _is_command(node):
                    yield first.lineno, "help", _one_line(help_text)
        elif isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            listed.add(id(node.value))  # the documentation of an attribute
        elif isinstance(node, ast.Call) and ast.unparse(node.func) in ("cast", "re.compile", "TypeVar"):
            listed.update(map(id, node.args[:1]))  # a type or a pattern
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and (kind := _kind_of_call(node)):
            arguments = [*node.args, *(word.value for word in node.keywords if word.arg in ("on", "try_", "help"))]
            listed.update(id(part) for argument in arguments for part in ast.walk(argument))
            yield node.lineno, kind, " | ".join(filter(None, map(_shown, arguments)))
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr | ast.Constant) and id(node) not in listed:
            listed.update(id(part) for part in ast.walk(node))
            text = _shown(node) if isinstance(node, ast.JoinedStr) or isinstance(node.value, str) else ""
            if is_sentence(text):
                yield node.lineno, "text", text


def _is_command(node: ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) -> bool:
    return any(re.search(r"\b(command|group)\b", ast.unparse(item)) for item in node.decorator_list)


def _kind_of_call(call: ast.Call) -> str:
    name = ast.unparse(call.func).rpartition(".")[2]
    if any(word.arg == "try_" for word in call.keywords) or name.endswith(("Error", "Exception")):
        return "error"
    if name.startswith("warn"):
        return "warning"
    return "help" if any(word.arg == "help" for word in call.keywords) else ""


def _shown(node: ast.expr) -> str:
    """Return the text of an expression; parts that are not text appear as {their source}."""
    if isinstance(node, ast.Constant):
        return _one_line(node.value) if isinstance(node.value, str) else ""
    if isinstance(node, ast.JoinedStr):
        values = [
            str(part.value) if isinstance(part, ast.Constant) else f"{{{ast.unparse(getattr(part, 'value', part))}}}"
            for part in node.values
        ]
        return _one_line("".join(values))
    return f"{{{_one_line(ast.unparse(node))}}}"


def template_sentences(source: str) -> Iterator[tuple[int, str, str]]:
    """Yield (line, kind, text) of a jinja2 template or an HTML file: texts, and the attributes that a reader sees."""
    plain = re.sub(r"\{#.*?#\}|<(style|script)\b.*?</\1>", _blank, source, flags=re.DOTALL)
    plain = re.sub(r"\{%.*?%\}", _blank, plain, flags=re.DOTALL)
    plain = re.sub(
        r"\{\{-?\s*(.*?)\s*-?\}\}", lambda match: "{" + match[1].replace("<", "‹").replace(">", "›") + "}", plain
    )
    for match in _SHOWN_ATTRIBUTE.finditer(plain):
        if is_sentence(match[1]):
            yield plain.count("\n", 0, match.start()) + 1, "template", _one_line(match[1])
    at = 0
    for match in [*re.finditer(r"<[/a-z][^<>]*>", plain), None]:
        text = plain[at : match.start() if match else len(plain)]
        if is_sentence(_one_line(text)):
            yield plain.count("\n", 0, at) + 1, "template", _one_line(text)
        at = match.end() if match else at


def script_sentences(source: str) -> Iterator[tuple[int, str, str]]:
    """Yield (line, kind, text) of the texts in a panel's script."""
    for match in _SCRIPT_TEXT.finditer(source):
        if match[0].startswith("/"):
            continue
        text = _one_line(re.sub(r"\$\{([^{}]*)\}", r"{\1}", match[0][1:-1]))
        if is_sentence(text) and not text.startswith("<svg"):
            yield source.count("\n", 0, match.start()) + 1, "panel", text


def data_sentences(source: str) -> Iterator[tuple[int, str, str]]:
    """Yield (line, kind, text) of the sentences in a TOML file."""
    lines = source.splitlines()
    for text in _texts(tomllib.loads(source)):
        if is_sentence(text):
            begin = text.strip().splitlines()[0][:30]
            yield next((at for at, line in enumerate(lines, 1) if begin in line), 1), "data", _one_line(text)


def _texts(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        yield from (text for item in value.values() for text in _texts(item))
    elif isinstance(value, list):
        yield from (text for item in value for text in _texts(item))


def _one_line(text: str) -> str:
    return " ".join(text.split())


def _blank(match: re.Match[str]) -> str:
    return "\n" * match[0].count("\n")


_READERS: Final = {
    ".py": python_sentences,
    ".j2": template_sentences,
    ".html": template_sentences,
    ".js": script_sentences,
    ".toml": data_sentences,
}

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
