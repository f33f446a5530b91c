"""Saving and restoring what a session has committed."""

from asynchooks.checkpoint._restoring import latest_checkpoint
from asynchooks.checkpoint._saver import Saver
from asynchooks.checkpoint._stores import CheckpointStore, DirectoryStore, MemoryStore

__all__ = ["CheckpointStore", "DirectoryStore", "MemoryStore", "Saver", "latest_checkpoint"]
