"""The catalogue's entries, one file for each hundred of numbers."""
