"""Load tests: many scheduled calls at once, made by separate processes, with the time of each."""
