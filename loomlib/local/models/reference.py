"""What "that" and "it" mean: the number or the text of the answer before."""

from __future__ import annotations

import re

from loomlib.local.models.arithmetic import find_sums
from loomlib.local.models.numerals import find_numbers

_PRONOUN = re.compile(r"\b(?:that|it|this|the result|the answer|the sum|that number)\b", re.IGNORECASE)
_LEAD = re.compile(r"^\s*(?:(?:and|then|now|ok|okay|what about|what is|what's)\s+)*", re.IGNORECASE)
_TEXT = re.compile(
    r"\b(?:that|this|the|your|it)\s*(?:last |previous )?(?:text|poem|story|answer|paragraph)s?\b", re.IGNORECASE
)


def referred(prompt: str, answer: str) -> str:
    """`prompt` with the answer before it put where the prompt refers to it, and unchanged where it does not.

    "multiply that by 3" after "2 + 2 = 4." becomes "multiply 4 by 3", "and times 5?" becomes "4 times 5?"; a prompt
    about "that text" gets the text in quotation marks.
    """
    if _TEXT.search(prompt) and '"' not in prompt and len(answer) > 40:
        return f'{prompt} "{answer.replace(chr(34), chr(39))}"'
    numbers = find_numbers(answer)
    if not numbers or find_sums(prompt):
        return prompt
    for candidate in (_PRONOUN.sub(str(numbers[-1]), prompt, count=1), f"{numbers[-1]} {_LEAD.sub('', prompt)}"):
        if find_sums(candidate):
            return candidate
    return prompt
