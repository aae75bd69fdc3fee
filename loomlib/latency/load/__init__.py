"""Load tests: many calls at once by a schedule, made by processes of their own, with the time of each."""
