"""The resources of a deployment: each part examines, creates or changes one kind of resource, and can undo that."""
