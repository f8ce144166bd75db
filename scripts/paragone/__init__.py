"""Paragone: which way of training is best on this machine, and do the published numbers hold?"""
