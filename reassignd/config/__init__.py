"""The settings: keys, their types, and the files that hold them."""
