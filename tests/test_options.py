"""Options of a run, and how those of several parties are merged."""

from __future__ import annotations

from dataclasses import FrozenInstanceError

import pytest

import asynchooks as ah


def test_options_have_defaults_and_are_frozen() -> None:
    """Without arguments there is no limit, a run is retried and nothing is traced."""
    options = ah.RunOptions()
    assert (options.timeout, options.retry, options.trace_level) == (None, True, 0)
    with pytest.raises(FrozenInstanceError):
        options.retry = False  # type: ignore[misc]


@pytest.mark.parametrize("timeout", [0, 0.5, 3, None])
def test_times_from_zero_are_taken(timeout: float | None) -> None:
    """A timeout is any number of seconds from 0, or None."""
    assert ah.RunOptions(timeout=timeout).timeout == timeout


@pytest.mark.parametrize(
    ("parts", "merged"),
    [
        ([{}, {}], {}),
        ([{"timeout": 1}, {}], {"timeout": 1}),
        ([{}, {"timeout": 2}], {"timeout": 2}),
        ([{"timeout": 1}, {"timeout": 3}, {"timeout": 2}], {"timeout": 3}),
        ([{"retry": False}, {}], {"retry": False}),
        ([{}, {"retry": False}, {"retry": True}], {"retry": False}),
        ([{"trace_level": 1}, {"trace_level": 3}, {"trace_level": 2}], {"trace_level": 3}),
        (
            [{"timeout": 1, "trace_level": 2}, {"retry": False, "timeout": 0.5}],
            {"timeout": 1, "retry": False, "trace_level": 2},
        ),
    ],
)
async def test_options_of_hooks_and_caller_are_merged(
    parts: list[dict[str, float]], merged: dict[str, float]
) -> None:
    """The largest timeout and trace level count, and `retry` only if all say so."""

    class Asks(ah.SessionRunHook):
        def __init__(self, options: ah.RunOptions | None) -> None:
            self.options = options
            self.got: list[ah.RunOptions] = []

        async def before_run(self, run_context: ah.SessionRunContext) -> ah.SessionRunArgs:
            return ah.SessionRunArgs(options=self.options)

        async def after_run(
            self, run_context: ah.SessionRunContext, run_values: ah.SessionRunValues
        ) -> None:
            self.got.append(run_values.options)

    caller, *others = [ah.RunOptions(**part) for part in parts]  # type: ignore[arg-type]
    hooks = [Asks(None), *map(Asks, others)]
    async with ah.MonitoredSession(ah.Graph(), hooks) as session:
        await session.run([], options=caller)
    expected = ah.RunOptions(**merged)  # type: ignore[arg-type]
    assert [hook.got for hook in hooks] == [[expected]] * len(hooks)
