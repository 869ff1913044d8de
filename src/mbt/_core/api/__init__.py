"""The functions that users call: methods of trees, and functions without a Context."""
