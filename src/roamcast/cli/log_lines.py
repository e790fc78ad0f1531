"""The lines that a running node or bridge writes to stderr: texts for people, or JSON objects for programs."""

from __future__ import annotations

import json
import logging
from datetime import UTC, datetime


class TextLines(logging.Formatter):
    def __init__(self) -> None:
        super().__init__("roamcast: %(message)s")


class JsonLines(logging.Formatter):
    """`{"time": "2026-05-01T12:00:00.123+00:00", "level": "warning", "logger": "roamcast.net", "message": "…"}`; an
    error of the program also has its `traceback`."""

    def format(self, record: logging.LogRecord) -> str:
        fields = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
        }
        if record.exc_info:
            fields["traceback"] = self.formatException(record.exc_info)
        return json.dumps(fields, ensure_ascii=False)


FORMATTERS: dict[str, type[logging.Formatter]] = {"text": TextLines, "json": JsonLines}
