"""Presentation: formats of numbers and units, HTML from templates, charts; one behaviour for every surface."""
