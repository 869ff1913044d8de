"""Numbers of the force element types, shared with Python."""
