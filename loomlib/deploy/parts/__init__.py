"""The resources of a deployment: each part looks at one kind, makes or changes it, and undoes that."""
