"""The six panels: build, test, operate, evaluate, memory, tools; each is imported when it is opened."""
