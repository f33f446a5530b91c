"""Final evaluations."""

from __future__ import annotations

from typing import Any

from asynchooks._hook import SessionRunHook
from asynchooks._session import Session


class FinalOpsHook(SessionRunHook):
    """Evaluates ops at a clean end of the session.

    Carries over ``tf.compat.v1.train.FinalOpsHook``.
    """

    def __init__(self, final_ops: Any, final_ops_feed_dict: Any = None) -> None:
        """Makes the hook.

        Args:
            final_ops: what to evaluate, nested as in `Session.run`; None evaluates nothing.
            final_ops_feed_dict: values by op or name.
        """
        self._final_ops = final_ops
        self._feed_dict = final_ops_feed_dict
        self._values: Any = None

    @property
    def final_ops_values(self) -> Any:
        """The values, in the nesting of `final_ops`; None until they were evaluated."""
        return self._values

    async def begin(self) -> None:
        """Forgets the values of an earlier session."""
        self._values = None

    async def end(self, session: Session) -> None:
        """Evaluates the final ops; what that raises leaves the session, the end of input too."""
        if self._final_ops is not None:
            self._values = await session.run(self._final_ops, self._feed_dict)
