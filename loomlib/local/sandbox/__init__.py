"""The sandbox of agent code: the files, networks and resources that its processes may use."""
