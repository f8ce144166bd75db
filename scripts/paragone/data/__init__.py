"""Data: found and checked once (`fetch`), turned into arrays once (`serialize`), mapped by all.

This package's own import stays light (numpy and json): every training process pays for it.
"""

from paragone.data.loader import Dataset, load

__all__ = ["Dataset", "load"]
