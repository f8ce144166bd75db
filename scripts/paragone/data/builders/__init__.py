"""Builders of papers and plugins that TensorFlow Datasets lacks or has for other editions, a `BUILDER` each."""

from paragone.base import plugins

__path__ = plugins.extended(__path__, "data/builders")
