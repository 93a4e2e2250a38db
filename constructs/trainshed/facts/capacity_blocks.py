"""What EC2 announces of Capacity Blocks through EventBridge.

EC2 user guide "Monitor Capacity Blocks using EventBridge", and "Monitor interruptible Capacity
Reservations with EventBridge and CloudTrail", read 2026-11-29 and 2026-11-30: the two editions of
the first spell the events differently, so that both spellings are listened to.
"""

from __future__ import annotations

DELIVERY_TYPES = ("Capacity Block Delivered", "Capacity Block Reservation Delivered")
"""Detail types of the beginning of a block."""
EXPIRATION_TYPES = (
    "Capacity Block Expiration Warning",
    "Capacity Block Reservation Expiration Warning",
)
"""Detail types that come 40 minutes before a block ends; they name the reservation."""
INTERRUPTION_TYPES = (
    "EC2 Capacity Block Instance Interruption Warning",
    "EC2 Capacity Reservation Instance Interruption Warning",
)
"""Detail types that announce the end of an instance; they name the instance alone."""
