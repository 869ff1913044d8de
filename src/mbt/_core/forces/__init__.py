"""Force element types: forces, energies and powers."""
