"""A small language model, run by llama.cpp in its own process: prefill, decoding, prompt cache and sampling are real.

The packages of the extra `tiny-model` contain llama.cpp and the weights of SmolLM2-135M-Instruct; nothing is
downloaded at run time. Tool calls, verdicts of judges and JSON answers are planned by the scripted model, and the
model decodes their tokens one by one, so that their time and token counts are real; it chooses the words of all other
answers.
"""

from .packages import TINY_LABEL, check_packages
from .settings import TinySettings

__all__ = ["TINY_LABEL", "TinySettings", "check_packages"]
