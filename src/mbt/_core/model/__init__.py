"""The compiled model and its types of elements."""
