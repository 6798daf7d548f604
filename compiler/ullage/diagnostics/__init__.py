"""Errors as a designed surface: codes, collected diagnostics and their renderings."""
