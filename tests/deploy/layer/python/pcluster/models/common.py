"""``parse_config`` of a saved text."""

from json import loads as parse_config

__all__ = ["parse_config"]
