"""The Operate panel."""
