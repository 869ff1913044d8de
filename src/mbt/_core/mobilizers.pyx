"""Numbers of the mobilizer types, shared with Python."""
