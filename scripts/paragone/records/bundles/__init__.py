"""Bundles: what was measured on a machine and all that drawing needs, in one archive that checks itself."""
