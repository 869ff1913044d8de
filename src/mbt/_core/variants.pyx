"""Numbers of what a tree computes, shared with Python."""
