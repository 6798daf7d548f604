"""Serves a small transformer on CPU through generated runners, and checks every token it makes."""
