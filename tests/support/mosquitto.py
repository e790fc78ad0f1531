"""A real MQTT broker for tests, which can be killed and started again, and a client of it."""

from __future__ import annotations

import contextlib
import itertools
import os
import shutil
import socket
import subprocess
import time
from pathlib import Path
from typing import Any

import paho.mqtt.client as mqtt
import pytest
from paho.mqtt.enums import CallbackAPIVersion
from paho.mqtt.packettypes import PacketTypes
from paho.mqtt.properties import Properties

PATIENCE_S = 60.0
_ports = itertools.count(30_200 + os.getpid() % 2000)


class Mosquitto:
    def __init__(self, folder: Path) -> None:
        program = shutil.which("mosquitto", path=f"{os.environ.get('PATH', '')}:/usr/sbin")
        if program is None:
            pytest.skip("there is no mosquitto (Debian: apt-get install mosquitto)")
        self.program = program
        self.port = next(_ports)
        self.folder = folder / "mosquitto"
        self.folder.mkdir()
        self.folder.chmod(0o777)  # started by root, it becomes another user
        folder.chmod(0o755)
        (self.folder / "mosquitto.conf").write_text(
            f"listener {self.port} 127.0.0.1\nallow_anonymous true\npersistence true\nmax_queued_messages 10000\n"
            f"persistence_location {self.folder}/\nautosave_on_changes true\nautosave_interval 1\nuser root\n"
        )
        self.start()

    @property
    def url(self) -> str:
        return f"mqtt://127.0.0.1:{self.port}"

    def start(self) -> None:
        words = [self.program, "-c", str(self.folder / "mosquitto.conf")]
        self.process = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        deadline = time.monotonic() + PATIENCE_S
        while True:
            with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", self.port)):
                return
            assert self.process.poll() is None
            assert time.monotonic() < deadline
            time.sleep(0.02)

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()


class Client:
    """An application that uses the broker: what it got is in `messages`."""

    def __init__(self, broker: Mosquitto, name: str, *topics: str) -> None:
        self.messages: list[Any] = []
        self.client = mqtt.Client(CallbackAPIVersion.VERSION2, name, protocol=mqtt.MQTTv5)
        self.client.on_message = lambda _, __, message: self.messages.append(message)
        self.client.on_connect = lambda *_: [self.client.subscribe(topic, 1) for topic in topics]
        self.client.reconnect_delay_set(1, 1)
        properties = Properties(PacketTypes.CONNECT)  # type: ignore[no-untyped-call]
        properties.SessionExpiryInterval = 3600
        self.client.connect_async("127.0.0.1", broker.port, clean_start=False, properties=properties)
        self.client.loop_start()

    def publish(self, topic: str, payload: str | bytes) -> Any:
        return self.client.publish(topic, payload, qos=1)

    def close(self) -> None:
        self.client.disconnect()
        self.client.loop_stop()
