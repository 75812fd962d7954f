"""Generated message classes, one module per schema file. See `protocol.generate`."""
