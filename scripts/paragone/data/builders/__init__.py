"""Builders that TensorFlow Datasets lacks, has for other editions only, or has slower: `BUILDER` of each."""

from paragone.base import plugins

__path__ = plugins.extended(__path__, "data/builders")
