"""The Evaluate panel."""
