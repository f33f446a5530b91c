"""What a checkpoint takes out of a session, and puts back into one."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from asynchooks._closing import logger
from asynchooks._session import Session
from asynchooks._sources import SOURCES, Source
from asynchooks._variables import VARIABLES, Variable, get_global_step
from asynchooks.checkpoint._format import Content


def current_step(session: Session) -> int:
    """Returns the global step of the runs that have committed.

    Raises:
        ValueError: the graph has none.
    """
    step = get_global_step(session.graph)
    if step is None:
        raise ValueError("the graph has no global step; call get_or_create_global_step()")
    return step.committed(session.state)


def take_snapshot(session: Session, step: int) -> Content:
    """Returns the state at once: values are not copied, as nobody changes them in place."""
    state = session.state
    return Content(
        step,
        {variable.name: variable.committed(state) for variable in _variables(session)},
        {source.name: source.mark(state) for source in _sources(session)},
    )


async def put_back(session: Session, content: Content, name: str) -> None:
    """Sets variables and positions in sources to what a checkpoint holds.

    What only one side knows is named in a warning and stays as it is.

    Args:
        session: no run of it is under way.
        content: the checkpoint.
        name: what warnings call it.
    """
    variables, sources = _variables(session), _sources(session)
    _warn(name, "variables", (each.name for each in variables), content.values)
    _warn(name, "sources", (each.name for each in sources), content.marks)
    state = session.state
    await state.aclose()
    values = {each: content.values[each.name] for each in variables if each.name in content.values}
    state.values = state.values | values
    for source in sources:
        if source.name in content.marks:
            source.go_on(state, content.marks[source.name])


def _variables(session: Session) -> list[Variable[Any]]:
    return session.graph.get_collection(VARIABLES)


def _sources(session: Session) -> list[Source[Any]]:
    return session.graph.get_collection(SOURCES)


def _warn(name: str, kind: str, graph: Iterable[str], checkpoint: Iterable[str]) -> None:
    known, saved = set(graph), set(checkpoint)
    if missing := sorted(known - saved):
        logger.warning("checkpoint %s lacks %s %s", name, kind, ", ".join(missing))
    if unknown := sorted(saved - known):
        logger.warning("the graph lacks %s of checkpoint %s: %s", kind, name, ", ".join(unknown))
