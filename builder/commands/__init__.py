"""The commands of `sizing`, one module each."""
