"""Figures, one module each: `points(inputs)` is what is drawn, `draw(points, inputs)` the figure.

The points are a table; `plot.py` writes it beside the figure. Its columns whose names begin with an
underscore are for `draw` alone.
"""

from paragone.base import plugins

__path__ = plugins.extended(__path__, "reporting/figures")
