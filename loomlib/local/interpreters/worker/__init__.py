"""The code that runs inside a code interpreter's session, in its sandbox; it uses the standard library only."""
