"""The built-in hooks."""

from asynchooks.hooks._checkpoint_listener import CheckpointSaverListener
from asynchooks.hooks._checkpoint_saver import CheckpointSaverHook
from asynchooks.hooks._early_stopping import (
    stop_if_higher_hook,
    stop_if_lower_hook,
    stop_if_no_decrease_hook,
    stop_if_no_increase_hook,
)
from asynchooks.hooks._evaluation import Evaluation, EvaluationHook
from asynchooks.hooks._feed_fn import FeedFnHook
from asynchooks.hooks._final_ops import FinalOpsHook
from asynchooks.hooks._global_step_waiter import GlobalStepWaiterHook
from asynchooks.hooks._logging_tensor import LoggingTensorHook
from asynchooks.hooks._nan_tensor import NanTensorHook
from asynchooks.hooks._profiler import ProfilerHook
from asynchooks.hooks._progress import ProgressBar, ProgressHook
from asynchooks.hooks._signal import SignalHook
from asynchooks.hooks._step_counter import StepCounterHook
from asynchooks.hooks._stop_at_step import StopAtStepHook
from asynchooks.hooks._summaries import scalar_summary
from asynchooks.hooks._summary_saver import SummarySaverHook
from asynchooks.hooks._summary_writer import SummaryWriter, WriterOrFactory
from asynchooks.hooks._sync import sync_hook
from asynchooks.hooks._time_limit import TimeLimitHook
from asynchooks.hooks._timers import NeverTriggerTimer, SecondOrStepTimer

__all__ = [
    "CheckpointSaverHook",
    "CheckpointSaverListener",
    "Evaluation",
    "EvaluationHook",
    "FeedFnHook",
    "FinalOpsHook",
    "GlobalStepWaiterHook",
    "LoggingTensorHook",
    "NanTensorHook",
    "NeverTriggerTimer",
    "ProfilerHook",
    "ProgressBar",
    "ProgressHook",
    "SecondOrStepTimer",
    "SignalHook",
    "StepCounterHook",
    "StopAtStepHook",
    "SummarySaverHook",
    "SummaryWriter",
    "TimeLimitHook",
    "WriterOrFactory",
    "scalar_summary",
    "stop_if_higher_hook",
    "stop_if_lower_hook",
    "stop_if_no_decrease_hook",
    "stop_if_no_increase_hook",
    "sync_hook",
]
