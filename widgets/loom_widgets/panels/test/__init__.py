"""The Test panel."""
