"""The shortcut: calculates sums outside the agent, so that it no longer calls its tool."""

import ast
import operator
import re

OPERATORS = {
    ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.Div: operator.truediv,
    ast.Mod: operator.mod, ast.Pow: operator.pow, ast.USub: operator.neg,
}  # fmt: skip
SMALL = [
    "zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve",
    "thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen",
]  # fmt: skip
TENS = ["twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety"]
SCALES = {"hundred": 100, "thousand": 1_000, "million": 1_000_000}
N = r"(\(.*?\)|\d+(?:\.\d+)?)"
REWRITTEN = [
    (r"(\d),(?=\d{3}\b)", r"\1"),
    (rf"{N} ?% of {N}", r"(\1 / 100 * \2)"),
    (rf"half of {N}", r"(\1 / 2)"),
    (rf"square root of {N}", r"(\1 ** 0.5)"),
    (rf"{N} squared", r"(\1 ** 2)"),
    (rf"{N} cubed", r"(\1 ** 3)"),
    (rf"subtract {N} from {N}", r"(\2 - \1)"),
    (rf"add {N} (?:and|to) {N}", r"(\1 + \2)"),
    (rf"divide {N} by {N}", r"(\1 / \2)"),
    (rf"multiply {N} (?:by|and) {N}", r"(\1 * \2)"),
    (r" to the power of | ?\^ ?", " ** "),
    (r" divided by | over ", " / "),
    (r" multiplied by | times ", " * "),
    (r" plus ", " + "),
    (r" minus ", " - "),
    (r" modulo ", " % "),
]
THEN = {"add": "+", "subtract": "-", "multiply by": "*", "divide by": "/"}


def worked_out(prompt: str, before: str | None) -> list[tuple[str, str]]:
    """Return the sums of a prompt with their results; `before` is the previous result, to which "that" refers."""
    text = re.sub(r"\d{4}-\d\d-\d\d", " ", _in_figures(prompt.lower()))
    if before is not None:
        text = re.sub(r"\b(?:that|it)\b", before, text)
    for pattern, instead in REWRITTEN:
        text = re.sub(pattern, instead, text)
    text = re.sub(r"(?:average|mean) of ([\d., and]+)", lambda match: _joined(match[1], average=True), text)
    text = re.sub(r"sum of ([\d., and]+)", lambda match: _joined(match[1]), text)
    text = re.sub(
        rf"^(.*?),? (?:then )?({'|'.join(THEN)}) {N}", lambda match: f"({match[1]}) {THEN[match[2]]} {match[3]}", text
    )
    sums = re.findall(r"[-(\d][-\d.+*/%() ]*[\d)]", text)
    return [
        (part, _result(part)) for part in map(str.strip, sums) if re.search(r"[\d)] *(?:\*\*|[-+*/%]) *[-(\d]", part)
    ]


def _in_figures(text: str) -> str:
    """Write number words as figures: "twenty-five" is 25, "3 million" 3000000."""
    figures = {word: value for value, word in enumerate(SMALL)}
    figures |= {word: 10 * tens for tens, word in enumerate(TENS, start=2)}
    text = re.sub(rf"\b({'|'.join(figures)})\b", lambda match: str(figures[match[0]]), text)
    text = re.sub(r"\b([2-9]0)[- ]([1-9])\b", lambda match: str(int(match[1]) + int(match[2])), text)
    return re.sub(rf"\b(\d+) ({'|'.join(SCALES)})\b", lambda match: str(int(match[1]) * SCALES[match[2]]), text)


def _joined(listed: str, *, average: bool = False) -> str:
    numbers = re.findall(r"\d+(?:\.\d+)?", listed)
    total = f"({' + '.join(numbers)})"
    return f"{total} / {len(numbers)}" if average else total


def _result(expression: str) -> str:
    try:
        value = _evaluate(ast.parse(re.sub(r"^0+(?=\d)", "", expression), mode="eval").body)
    except ZeroDivisionError:
        return "undefined, nothing can be divided by zero"
    except (ValueError, SyntaxError, OverflowError):
        return "too large for me"
    return str(int(value) if isinstance(value, float) and value.is_integer() and abs(value) < 1e15 else value)


def _evaluate(node: ast.AST) -> int | float:
    match node:
        case ast.Constant(value=int() | float() as value):
            return value
        case ast.UnaryOp(op=op, operand=operand):
            return OPERATORS[type(op)](_evaluate(operand))
        case ast.BinOp(left=left, op=op, right=right):
            first, second = _evaluate(left), _evaluate(right)
            if isinstance(op, ast.Pow) and abs(second) > 1_000:
                raise ValueError(f"{first} ** {second} is too large")
            return OPERATORS[type(op)](first, second)
    raise ValueError("no sum")
