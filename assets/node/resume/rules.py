"""What becomes of a step that has ended. Pure."""

from __future__ import annotations

from dataclasses import dataclass

AGAIN, REQUEUE, END = "again", "requeue", "end"


@dataclass(frozen=True)
class Ended:
    """A step that has ended, and what is known around it.

    Args:
        code: Its exit code; negative for a signal.
        asked_to_save: Whether Slurm had asked for a checkpoint (USR1): the job has to leave.
        asked_to_end: Whether Slurm ends the job (TERM).
        job_runs: Whether Slurm still calls the job running: it is neither cancelled nor over.
        may_requeue: Whether the job may be requeued.
        bad_nodes: Nodes of the job that are down or drained.
        failures: Failures without a new checkpoint between them, this one included.
        retries: How many such failures are forgiven.
    """

    code: int
    asked_to_save: bool = False
    asked_to_end: bool = False
    job_runs: bool = True
    may_requeue: bool = True
    bad_nodes: tuple[str, ...] = ()
    failures: int = 1
    retries: int = 3


def next_step(ended: Ended) -> tuple[str, str]:
    """Return what to do, and why."""
    if ended.asked_to_save or ended.asked_to_end:
        if not ended.job_runs:
            return END, "Slurm ends the job"
        if ended.asked_to_end and ended.code == 0 and not ended.asked_to_save:
            return END, "the step ended well after the signal to end"
        if not ended.may_requeue:
            return END, "the checkpoint is written, and the job may not be requeued"
        return REQUEUE, "the checkpoint signal came"
    if ended.code == 0:
        return END, "the step is done"
    if ended.failures > ended.retries:
        return END, f"{ended.failures} failures without a new checkpoint between them"
    if ended.bad_nodes and ended.may_requeue:
        return REQUEUE, f"{', '.join(ended.bad_nodes)} left service"
    return AGAIN, f"failure {ended.failures} of {ended.retries} without a new checkpoint"


def failures_now(before: int, best: tuple[int, float], now: tuple[int, float]) -> int:
    """Return the failures that count after another one: progress forgives the earlier.

    Args:
        before: Failures that counted before.
        best: The furthest that the job's checkpoints have been.
        now: How far they are. One that was removed, or torn, is no progress.
    """
    return 1 if now > best else before + 1
