"""What both type checkers refuse; checked by tests/test_typing.py, never run.

A comment above each refused line holds the code that mypy gives, then the one that pyright gives.
"""

# pyright: strict

from __future__ import annotations

import asynchooks as ah


class WrongResult(ah.SessionRunHook):
    # refused: override, reportIncompatibleMethodOverride
    async def before_run(self, run_context: ah.SessionRunContext) -> int:
        return 1


class Sync(ah.SessionRunHook):
    # refused: override, reportIncompatibleMethodOverride
    def begin(self) -> None: ...

    async def end(self, session: ah.Session) -> None: ...


class WrongArguments(ah.SessionRunHook):
    # refused: override, reportIncompatibleMethodOverride
    async def after_run(self, run_context: ah.SessionRunContext) -> None: ...


class NoHook:
    async def begin(self) -> None: ...


class NoCreator:
    def create_session(self, graph: ah.Graph) -> ah.Session:
        return ah.Session(graph)


@ah.op
async def length(text: str) -> int:
    return len(text)


async def results(session: ah.MonitoredSession, raw: ah.Session) -> None:
    size = await session.run(length("x"))
    # refused: assignment, reportAssignmentType
    wrong: str = size
    raw_size = await raw.run(length("x"))
    # refused: assignment, reportAssignmentType
    wrong = raw_size
    # refused: assignment, reportAssignmentType
    op: ah.Op[str] = length("x")
    # refused: unused-coroutine, reportUnusedCoroutine
    session.run(op)
    # refused: arg-type, reportArgumentType
    ah.SessionRunArgs(op, options={"timeout": 1.0})
    # refused: assignment, reportAssignmentType
    count: int = session.should_stop
    print(wrong, count)


async def hooks(final: ah.FinalOpsHook, plain: NoHook) -> None:
    # refused: misc, reportAttributeAccessIssue
    final.final_ops_values = 1
    # refused: call-arg, reportCallIssue
    ah.FinalOpsHook()
    # refused: arg-type, reportArgumentType
    ah.StopAtStepHook(last_step="3")
    # refused: list-item, reportArgumentType
    ah.MonitoredSession(hooks=[plain])
    # refused: arg-type, reportArgumentType
    ah.MonitoredSession(hooks=final)
    # refused: arg-type, reportArgumentType
    ah.FeedFnHook({"x": 1})
    # refused: arg-type, reportArgumentType
    ah.MonitoredSession(session_creator=NoCreator())
    # refused: call-arg, reportCallIssue
    ah.MonitoredSession(None, [], ah.ChiefSessionCreator())


async def values(context: ah.SessionRunContext, step: ah.StepContext) -> None:
    # refused: misc, reportAttributeAccessIssue
    context.stop_requested = True
    text = await step.run_with_hooks(ah.constant("x"))
    # refused: assignment, reportAssignmentType
    number: int = text
    # refused: misc, reportAttributeAccessIssue
    ah.RunOptions().timeout = 1.0
    # refused: arg-type, reportArgumentType
    ah.RunOptions(timeout="soon")
    # refused: arg-type, reportArgumentType
    ah.Variable(0).assign("x")
    # refused: arg-type, reportArgumentType
    ah.Recovery(on="OSError")
    # refused: comparison-overlap, reportUnnecessaryComparison
    if ah.EndReason.FAILED == 1:
        print(number)
