"""Builders that TensorFlow Datasets lacks or has for other editions: `BUILDER` of each."""

from paragone.base import plugins

__path__ = plugins.extended(__path__, "data/builders")
