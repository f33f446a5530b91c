"""What the figures were measured on."""

from __future__ import annotations

import os
import platform
from importlib.metadata import version


def facts() -> dict[str, str]:
    """Returns what a reader needs to know of the machine, by name."""
    packages = ("asynchooks", "anyio", "trio")
    return {
        "python": f"{platform.python_implementation()} {platform.python_version()}",
        "platform": platform.platform(),
        "cores": str(os.cpu_count()),
        **{package: version(package) for package in packages},
    }
