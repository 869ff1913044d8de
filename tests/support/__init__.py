"""What several tests share: plain model descriptions, a NumPy reference, random trees, a URDF writer."""
