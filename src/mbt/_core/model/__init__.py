"""The compiled model, and the types of elements that it is made of."""
