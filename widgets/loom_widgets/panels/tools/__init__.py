"""The Tools panel: what agents use, listed and tried."""
