"""Proofs that checkpoints outlast kills, power cuts and disks that fail."""
