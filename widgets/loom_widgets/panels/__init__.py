"""The five panels: build, test, operate, evaluate, memory; each is imported when it is opened."""
