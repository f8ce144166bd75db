"""Builders that TensorFlow Datasets has not, not for every edition, or not as fast: `BUILDER` of a module."""

from paragone.base import plugins

__path__ = plugins.extended(__path__, "data/builders")
