"""Engines' own batch classes in front of generated runners.

Nothing here imports an engine: a batch is whatever has the attributes that the spec names.
"""
