"""An agent as a container image: its Dockerfile, and its build in the account."""
