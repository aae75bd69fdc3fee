"""CloudWatch Logs: the store of agents' output, and operations that moto lacks or handles differently from AWS."""
