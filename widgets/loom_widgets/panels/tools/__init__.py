"""The Tools panel: list and try what agents use."""
