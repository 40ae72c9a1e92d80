"""symroof."""
