"""``get_installed_version``."""


def get_installed_version() -> str:
    """Return the version that the layer has."""
    return "3.16.1"
