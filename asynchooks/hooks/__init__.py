"""The built-in hooks."""

from asynchooks.hooks._feed_fn import FeedFnHook
from asynchooks.hooks._final_ops import FinalOpsHook
from asynchooks.hooks._logging_tensor import LoggingTensorHook
from asynchooks.hooks._stop_at_step import StopAtStepHook
from asynchooks.hooks._sync import sync_hook
from asynchooks.hooks._timers import NeverTriggerTimer, SecondOrStepTimer

__all__ = [
    "FeedFnHook",
    "FinalOpsHook",
    "LoggingTensorHook",
    "NeverTriggerTimer",
    "SecondOrStepTimer",
    "StopAtStepHook",
    "sync_hook",
]
