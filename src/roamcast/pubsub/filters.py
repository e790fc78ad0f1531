"""Filters: what is asked for."""

from __future__ import annotations

from typing import Any

from mypy_extensions import mypyc_attr

from roamcast.pubsub.event import Event


@mypyc_attr(allow_interpreted_subclasses=True)
class Filter:
    """A predicate over events: an immutable value."""

    def matches(self, event: Event) -> bool:
        raise NotImplementedError

    def fields(self) -> list[Any]:
        """What goes on the air; `filter_from_fields` is the inverse."""
        raise NotImplementedError


class Everything(Filter):
    def matches(self, event: Event) -> bool:
        return True
