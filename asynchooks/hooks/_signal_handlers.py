"""Handlers of signals that several listeners share, and that give way to those from before."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from signal import Signals
from types import FrameType

Listener = Callable[[Signals], object]
"""Is called in the signal handler itself, so between any two steps of the main thread."""

_Handler = Callable[[int, FrameType | None], object] | int


@dataclass(frozen=True, slots=True)
class _Taken:
    """A signal that is listened to.

    Attributes:
        before: the handler from before, which comes back after the last listener.
        listeners: who listens.
    """

    before: _Handler
    listeners: list[Listener]


_taken: dict[Signals, _Taken] = {}


def listen(signals: Iterable[Signals], listener: Listener) -> None:
    """Has a listener called at each of some signals, in place of the handlers of the process.

    Args:
        signals: each once.
        listener: is called beside those that listen already.

    Raises:
        RuntimeError: this is not the main thread, or a handler could not be put back.
    """
    signals = tuple(signals)
    if threading.current_thread() is not threading.main_thread():
        raise RuntimeError(
            "signals are handled in the main thread of Python only, and this is thread "
            f"{threading.current_thread().name!r}; run the event loop in the main thread, or leave "
            "SignalHook out"
        )
    before = {each: _handler_of(each) for each in signals if each not in _taken}
    for each in signals:
        if each in before:
            _taken[each] = _Taken(before[each], [])
        _taken[each].listeners.append(listener)
        signal.signal(each, _deliver)


def unlisten(signals: Iterable[Signals], listener: Listener) -> None:
    """Ends `listen`, if it was called; the last listener puts the handler from before back."""
    for each in signals:
        taken = _taken.get(each)
        if taken is None or listener not in taken.listeners:
            continue
        if taken.listeners == [listener]:
            # In this order no signal meets a handler without a listener.
            signal.signal(each, taken.before)
            del _taken[each]
        taken.listeners.remove(listener)


def _handler_of(signum: Signals) -> _Handler:
    handler = signal.getsignal(signum)
    if handler is None:
        raise RuntimeError(
            f"{signum.name} has a handler that was not set by Python and could not be put back; "
            "leave it out of the signals of SignalHook"
        )
    return handler


def _deliver(signum: int, frame: FrameType | None) -> None:
    for listener in tuple(_taken[Signals(signum)].listeners):
        listener(Signals(signum))
