"""Judges: models that judge answers by a rubric, alone or in panels, and how far they may be trusted."""
