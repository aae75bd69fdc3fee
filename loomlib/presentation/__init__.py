"""Presentation: formats of numbers and units, HTML from templates, and charts, shared by all displays."""
