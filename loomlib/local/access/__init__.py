"""Authentication and authorization of callers: keys, signatures, permissions and the limits of a request."""
