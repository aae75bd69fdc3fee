"""The boundary around agent code: the files, networks and resources that its processes may use."""
