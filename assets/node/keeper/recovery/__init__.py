"""Holds new nodes until they are checked, opens the fleet after its gate, and mends what fails.

It speaks with the keeper through the reasons of nodes alone, and rests on Slurm: it can be stopped
and started at any moment. Standard library only.
"""
