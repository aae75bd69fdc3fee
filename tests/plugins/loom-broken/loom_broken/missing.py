"""Needs what nobody has, and is noisy before it finds out."""

print("I AM ON STANDARD OUTPUT")

import a_module_that_nobody_has  # type: ignore[import-not-found]  # noqa: E402, F401
