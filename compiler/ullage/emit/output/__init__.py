"""The output folder: whole at every moment, and never holding what Ullage did not write."""

from ullage.emit.output.changes import Changes
from ullage.emit.output.manifest import MANIFEST
from ullage.emit.output.write import write_output

__all__ = ["MANIFEST", "Changes", "write_output"]
