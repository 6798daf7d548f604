"""Ullage: derives, proves and generates the static input buffers of LLM-serving engines."""

__version__ = "0.1.0"
