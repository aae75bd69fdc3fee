"""Deployments of an agent: a plan of what would change, and its execution, here and on AWS."""
