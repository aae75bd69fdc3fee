"""The code that runs inside a code interpreter's session, behind the boundary; it uses the standard library only."""
