"""Identity of callers and of agents: JWT authorizers, issuers of tokens."""
