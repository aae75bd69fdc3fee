"""Who calls, and what they may do: keys, signatures, permissions and the limits of a request."""
