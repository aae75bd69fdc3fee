"""What runs inside a code interpreter's session, behind the boundary: the standard library only."""
