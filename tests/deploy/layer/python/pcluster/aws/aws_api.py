"""``AWSApi``, whose clients a warm function must not keep."""


class AWSApi:
    """Has nothing to reset here."""

    @staticmethod
    def reset() -> None:
        """Forget the clients."""
