"""The keeper of a bare Slurm fleet: applies changes, replaces nodes, says how the fleet is.

It runs on the head node beside slurmctld, on the distribution's Python (3.10 or later) and boto3.
``decide`` is pure and holds every decision; the other modules look and act.
"""
