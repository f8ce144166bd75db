"""Measurements beside training: matrix products and all-reduces."""
