"""Vectors of texts, made offline: what means the same lies close together."""
