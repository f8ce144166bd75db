"""Measurements other than training: matrix products."""

import paragone.engines  # noqa: F401 - the package sets what frameworks read when they are imported
