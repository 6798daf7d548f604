"""Loading beside SGLang 0.5.23's own registry of static buffers, in one process.

The real registry and the real ForwardBatch run out of the released wheel, unmodified, without
SGLang being installed; none of its files is part of this repository.
"""
