"""Displays of evaluations: runs, comparisons and sets as static HTML, text and charts."""

from .evidence import FlipEvidence
from .figures import draw_comparison, draw_run, draw_runs
from .run_page import run_html
from .set_page import set_html, set_text

__all__ = ["FlipEvidence", "draw_comparison", "draw_run", "draw_runs", "run_html", "set_html", "set_text"]
