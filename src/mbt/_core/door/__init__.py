"""What comes in: arrays as they are, and the compiled model that is made of them."""
