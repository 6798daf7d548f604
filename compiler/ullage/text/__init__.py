"""From spec files to a tree of texts with positions, and typed access to it."""
