"""Pictures of trees as plain data and as SVG, with NumPy alone."""
