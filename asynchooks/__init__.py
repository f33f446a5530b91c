"""TensorFlow 1's SessionRunHook contract for async code, on asyncio and trio."""

from asynchooks._coordinator import Coordinator
from asynchooks._creator import ChiefSessionCreator, SessionCreator
from asynchooks._errors import (
    AbortedError,
    CheckpointError,
    DeadlineExceededError,
    FeedConflictError,
    GraphFinalizedError,
    InvalidArgumentError,
    LifecycleError,
    NanLossDuringTrainingError,
    OpCancelledError,
    OutOfRangeError,
    RecoveryError,
    ReentrantRunError,
    RunAfterStopError,
    SessionClosedError,
    StepFunctionStopped,
    TasksStillRunningError,
    UnavailableError,
)
from asynchooks._graph import Graph, Op, control_dependencies, get_default_graph
from asynchooks._hook import (
    SessionRunArgs,
    SessionRunContext,
    SessionRunHook,
    SessionRunValues,
)
from asynchooks._lifecycle import EndReason, Phase, SessionEnd
from asynchooks._monitored import MonitoredSession
from asynchooks._ops import OpFunction, constant, group, no_op, op, placeholder
from asynchooks._options import RunOptions
from asynchooks._recovery import Recovery
from asynchooks._resources import resource
from asynchooks._run_metadata import NodeExecStats, RunMetadata
from asynchooks._session import Session
from asynchooks._sources import Source, from_iterable
from asynchooks._state import SessionState
from asynchooks._step_context import StepContext
from asynchooks._training_session import MonitoredTrainingSession
from asynchooks._variables import (
    Variable,
    get_global_step,
    get_or_create_global_step,
    get_variable,
)
from asynchooks.checkpoint import (
    CheckpointStore,
    DirectoryStore,
    MemoryStore,
    Saver,
    latest_checkpoint,
)
from asynchooks.hooks import (
    CheckpointSaverHook,
    CheckpointSaverListener,
    Evaluation,
    EvaluationHook,
    FeedFnHook,
    FinalOpsHook,
    GlobalStepWaiterHook,
    LoggingTensorHook,
    NanTensorHook,
    NeverTriggerTimer,
    ProfilerHook,
    ProgressBar,
    ProgressHook,
    SecondOrStepTimer,
    SignalHook,
    StepCounterHook,
    StopAtStepHook,
    SummarySaverHook,
    SummaryWriter,
    TimeLimitHook,
    scalar_summary,
    stop_if_higher_hook,
    stop_if_lower_hook,
    stop_if_no_decrease_hook,
    stop_if_no_increase_hook,
    sync_hook,
)

__version__ = "0.1.0"

__all__ = [
    "AbortedError",
    "CheckpointError",
    "CheckpointSaverHook",
    "CheckpointSaverListener",
    "CheckpointStore",
    "ChiefSessionCreator",
    "Coordinator",
    "DeadlineExceededError",
    "DirectoryStore",
    "EndReason",
    "Evaluation",
    "EvaluationHook",
    "FeedConflictError",
    "FeedFnHook",
    "FinalOpsHook",
    "GlobalStepWaiterHook",
    "Graph",
    "GraphFinalizedError",
    "InvalidArgumentError",
    "LifecycleError",
    "LoggingTensorHook",
    "MemoryStore",
    "MonitoredSession",
    "MonitoredTrainingSession",
    "NanLossDuringTrainingError",
    "NanTensorHook",
    "NeverTriggerTimer",
    "NodeExecStats",
    "Op",
    "OpCancelledError",
    "OpFunction",
    "OutOfRangeError",
    "Phase",
    "ProfilerHook",
    "ProgressBar",
    "ProgressHook",
    "Recovery",
    "RecoveryError",
    "ReentrantRunError",
    "RunAfterStopError",
    "RunMetadata",
    "RunOptions",
    "Saver",
    "SecondOrStepTimer",
    "Session",
    "SessionClosedError",
    "SessionCreator",
    "SessionEnd",
    "SessionRunArgs",
    "SessionRunContext",
    "SessionRunHook",
    "SessionRunValues",
    "SessionState",
    "SignalHook",
    "Source",
    "StepContext",
    "StepCounterHook",
    "StepFunctionStopped",
    "StopAtStepHook",
    "SummarySaverHook",
    "SummaryWriter",
    "TasksStillRunningError",
    "TimeLimitHook",
    "UnavailableError",
    "Variable",
    "__version__",
    "constant",
    "control_dependencies",
    "from_iterable",
    "get_default_graph",
    "get_global_step",
    "get_or_create_global_step",
    "get_variable",
    "group",
    "latest_checkpoint",
    "no_op",
    "op",
    "placeholder",
    "resource",
    "scalar_summary",
    "stop_if_higher_hook",
    "stop_if_lower_hook",
    "stop_if_no_decrease_hook",
    "stop_if_no_increase_hook",
    "sync_hook",
]


def _show_public_path() -> None:
    # Reprs, pickles and documentation show where a name is to be imported from.
    for name in __all__:
        value = globals()[name]
        if getattr(value, "__module__", "").startswith("asynchooks."):
            value.__module__ = __name__


_show_public_path()
