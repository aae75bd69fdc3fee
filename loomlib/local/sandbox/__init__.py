"""The boundary around agent code: what its processes may see, reach and use."""
