"""``Cache`` of what AWS answered."""


class Cache:
    """Has nothing to clear here."""

    @staticmethod
    def clear_all() -> None:
        """Forget the answers."""
