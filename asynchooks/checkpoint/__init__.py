"""Saving and restoring what a session has committed."""

from asynchooks.checkpoint._stores import CheckpointStore, DirectoryStore, MemoryStore

__all__ = ["CheckpointStore", "DirectoryStore", "MemoryStore"]
