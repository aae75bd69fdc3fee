"""CloudWatch Logs: the store of agents' output, and the operations that moto lacks or answers unlike AWS."""
