"""A picture of what an institution gets, drawn from its file. Pure.

::

    Path("kait.svg").write_text(picture(institution))
"""

from __future__ import annotations

from .page import picture

__all__ = ["picture"]
