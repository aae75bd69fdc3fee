"""The Build panel."""
