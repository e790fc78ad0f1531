"""What Spark's workers run. It is sent to them by value, so it imports nothing of roamcast before it has located it.

Sent by value means: no module globals in this file except plain values, and imports inside functions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any


def stage(name: str, **settings: Any) -> Callable[[Iterator[Any]], Iterator[Any]]:
    """What to give mapInArrow so that workers call `name` ("module:function") with record batches and the settings."""
    import sys

    from pyspark import cloudpickle

    from roamcast.lab import code
    from roamcast.lab.spark import session

    cloudpickle.register_pickle_by_value(sys.modules[__name__])  # type: ignore[no-untyped-call]
    return work(code.whole(), session.ARCHIVE, name, settings)


def work(version: str, archive: str, name: str, settings: dict[str, Any]) -> Callable[[Iterator[Any]], Iterator[Any]]:
    """A function for mapInArrow that finds roamcast of this version before it begins."""

    def run(batches: Iterator[Any]) -> Iterator[Any]:
        import gc
        from importlib import import_module

        find_package(version, archive)
        module, _, function = name.partition(":")
        called = getattr(import_module(module), function)
        if not gc.get_freeze_count():
            gc.freeze()  # Spark's workers collect garbage after each task, which looks through all that was imported
        yield from called(batches, **settings)

    return run


def find_package(version: str, archive: str) -> None:
    """Import roamcast as it is installed here, or as the driver sent it if that is another version."""
    import os
    import sys

    def running() -> str:
        try:
            from roamcast.lab import code

            return code.whole()
        except ImportError:
            return ""

    if running() == version:
        return
    from pyspark import SparkFiles

    sent = os.path.join(SparkFiles.getRootDirectory(), archive)  # noqa: PTH118  (pathlib would be one more import)
    if not os.path.isdir(sent):  # noqa: PTH112
        here = running() or "none"
        raise RuntimeError(f"roamcast {version} is not installed on this worker (it has {here}) and was not sent to it")
    for name in [name for name in sys.modules if name == "roamcast" or name.startswith("roamcast.")]:
        del sys.modules[name]
    sys.path.insert(0, sent)
    if running() != version:
        raise RuntimeError(f"roamcast {version} was sent to this worker, but {running() or 'none'} is what it finds")
