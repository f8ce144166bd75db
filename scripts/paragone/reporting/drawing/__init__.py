"""What the figure programs share: look, frame, files."""
