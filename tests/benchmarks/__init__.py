"""What asynchooks costs, beside hand-written code and beside its peers."""
