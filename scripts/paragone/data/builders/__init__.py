"""Builders that TensorFlow Datasets does not have, or not for every edition: `BUILDER` of each module."""

from paragone.base import plugins

__path__ = plugins.extended(__path__, "data/builders")
