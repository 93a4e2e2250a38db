"""Checks of a node: parsers that turn text into verdicts, and the runners that get the text.

The standard library alone, for Python 3.10 and later: this runs on nodes as they come.
"""
