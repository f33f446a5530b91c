"""A progress bar drawn with rich."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.progress import Progress


def rich_bar(*, total: int | None, initial: int, desc: str) -> RichBar | None:
    """Draws a bar on the standard error output.

    Args:
        total: the last step; None if it is not known.
        initial: the step at which the bar starts.
        desc: what stands before the bar.

    Returns:
        The bar; None if the output is no terminal.

    Raises:
        ImportError: rich is not installed.
    """
    try:
        from rich.console import Console
        from rich.progress import (
            BarColumn,
            MofNCompleteColumn,
            Progress,
            TextColumn,
            TimeElapsedColumn,
            TimeRemainingColumn,
        )
    except ImportError as error:
        raise ImportError(
            "ProgressHook draws its bar with rich; install asynchooks[progress], or give it `bar`"
        ) from error
    console = Console(stderr=True)
    if not console.is_terminal:
        return None
    columns = (
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
        TextColumn("{task.fields[shown]}", markup=False),
    )
    return RichBar(Progress(*columns, console=console, auto_refresh=False), total, initial, desc)


class RichBar:
    """A bar that is drawn when it is updated, by whoever updates it."""

    def __init__(self, progress: Progress, total: int | None, initial: int, desc: str) -> None:
        """Draws the bar for the first time."""
        self._progress = progress
        self._task = progress.add_task(desc, total=total, completed=initial, shown="")
        progress.start()

    def set_postfix(self, values: dict[str, Any]) -> None:
        """Has values shown behind the bar from the next update on."""
        shown = ", ".join(f"{tag} = {_short(value)}" for tag, value in values.items())
        self._progress.update(self._task, shown=shown)

    def update(self, n: int) -> None:
        """Draws the bar `n` steps further on."""
        self._progress.update(self._task, advance=n, refresh=True)

    def close(self) -> None:
        """Leaves the bar as it is and gives the terminal back."""
        self._progress.stop()


def _short(value: object) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)
