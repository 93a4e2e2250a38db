"""Starts a training step from its newest complete checkpoint, again when it fails.

Standard library only; it runs on every node, for every user.
"""
