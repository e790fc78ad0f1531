"""The connection to an MQTT broker: version 5, quality of service 1 in both directions.

The client library has a thread of its own; everything here is called on the asyncio loop. The session at the broker
outlives the connection, so messages wait there while the bridge is away. The library connects again by itself, and then
sends again what was not acknowledged.
"""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import Callable
from typing import Any, Final, NamedTuple
from urllib.parse import unquote, urlsplit

import paho.mqtt.client as mqtt
from paho.mqtt import MQTTException
from paho.mqtt.enums import CallbackAPIVersion
from paho.mqtt.packettypes import PacketTypes
from paho.mqtt.properties import Properties
from paho.mqtt.reasoncodes import ReasonCode
from paho.mqtt.subscribeoptions import SubscribeOptions

from roamcast.errors import InputError

log: Final = logging.getLogger("roamcast.bridge")

SESSION_S: Final = 7 * 24 * 3600
"""How long the broker keeps messages for a bridge that is away."""
IN_FLIGHT: Final = 20
"""How many messages may be unacknowledged at a time. A node remembers more keys of publications than that."""
KEEP_ALIVE_S: Final = 15
EXPIRY_MAX_S: Final = (1 << 32) - 1
"""The longest expiry that MQTT can write. A message that is valid for longer does not expire."""
PASSWORD: Final = "ROAMCAST_MQTT_PASSWORD"


class Url(NamedTuple):
    host: str
    port: int
    tls: bool
    user: str
    password: str

    @property
    def name(self) -> str:
        """The broker's name in `mqtt_via`, unless another one is given."""
        return f"{self.host}:{self.port}"


def read_url(text: str) -> Url:
    parts = urlsplit(text)
    try:
        port = parts.port
    except ValueError:
        port = -1
    if parts.scheme not in ("mqtt", "mqtts") or not parts.hostname or port == -1 or parts.path.strip("/"):
        raise InputError(f"{text!r}: must be mqtt://[USER:PASSWORD@]HOST[:PORT], or mqtts:// with TLS")
    tls = parts.scheme == "mqtts"
    password = unquote(parts.password or "") or os.environ.get(PASSWORD, "")
    return Url(parts.hostname, port or (8883 if tls else 1883), tls, unquote(parts.username or ""), password)


class Message(NamedTuple):
    """A message that came. It is acknowledged by `Broker.acknowledge`, unless the connection has ended meanwhile."""

    topic: str
    payload: bytes
    number: int
    repeated: bool  # the broker sent it before, and got no acknowledgement
    expiry_s: int | None
    properties: dict[str, str]
    connection: int


class Broker:
    def __init__(self, url: Url, client: str, ca: str = "") -> None:
        self.on_connected: Callable[[], None] = lambda: None
        self.on_message: Callable[[Message], None] = lambda _: None
        self.connection = 0  # rises with each
        self.connected = False
        self._url = url
        self._loop = asyncio.get_running_loop()
        self._sent: dict[int, Callable[[str], None]] = {}
        self._warned = False
        self._client = mqtt.Client(CallbackAPIVersion.VERSION2, client, protocol=mqtt.MQTTv5, manual_ack=True)
        if url.user:
            self._client.username_pw_set(url.user, url.password or None)
        if url.tls:
            self._client.tls_set(ca or None)
        self._client.reconnect_delay_set(1, 30)
        self._client.on_connect = self._called(self._on_connect)
        self._client.on_connect_fail = self._called(self._on_connect_fail)
        self._client.on_disconnect = self._called(self._on_disconnect)
        self._client.on_message = self._called(self._on_message)
        self._client.on_publish = self._called(self._on_publish)

    def open(self, will: str = "") -> None:
        """Connect, now or as soon as that is possible. If this bridge ends, the retained message `will` is removed."""
        if will:
            self._client.will_set(will, b"", qos=1, retain=True)
        properties = Properties(PacketTypes.CONNECT)  # type: ignore[no-untyped-call]
        properties.SessionExpiryInterval = SESSION_S
        properties.ReceiveMaximum = IN_FLIGHT
        self._client.connect_async(
            self._url.host, self._url.port, KEEP_ALIVE_S, clean_start=False, properties=properties
        )
        self._client.loop_start()

    def close(self) -> None:
        """Disconnect; the broker removes the retained message that `open` named."""
        self._client.disconnect(ReasonCode(PacketTypes.DISCONNECT, "Disconnect with will message"))
        self._client.loop_stop()

    def subscribe(self, topics: list[str]) -> None:
        options = SubscribeOptions(qos=1)
        if topics:
            self._client.subscribe([(topic, options) for topic in topics])

    def publish(
        self,
        topic: str,
        payload: bytes,
        then: Callable[[str], None] | None = None,
        *,
        retain: bool = False,
        expiry_s: int | None = None,
        properties: dict[str, str] | None = None,
    ) -> None:
        """`then` is called when the broker has it; with a reason, if the broker refused it, or MQTT cannot carry it."""
        about = Properties(PacketTypes.PUBLISH)  # type: ignore[no-untyped-call]
        if expiry_s is not None and expiry_s <= EXPIRY_MAX_S:
            about.MessageExpiryInterval = expiry_s
        if properties:
            about.UserProperty = list(properties.items())
        informed = then or (lambda _: None)
        try:
            sent = self._client.publish(topic, payload, qos=1, retain=retain, properties=about)
        except (ValueError, MQTTException) as error:
            self._loop.call_soon(informed, f"MQTT cannot carry it: {error}")
            return
        self._sent[sent.mid] = informed

    def acknowledge(self, message: Message) -> None:
        if self.connected and message.connection == self.connection:
            self._client.ack(message.number, 1)

    # ---- called by the library's thread, and passed on to the loop

    def _called(self, action: Callable[..., None]) -> Callable[..., None]:
        def call(*arguments: Any) -> None:
            if not self._loop.is_closed():
                self._loop.call_soon_threadsafe(action, *arguments)

        return call

    def _on_connect(self, _: Any, __: Any, flags: Any, reason: Any, ___: Any) -> None:
        if reason.is_failure:
            self._trouble(str(reason))
            return
        if self._warned:
            log.warning("the broker %s is back", self._url.name)
        self._warned = False
        self.connection += 1
        self.connected = True
        self.on_connected()

    def _on_connect_fail(self, *_: Any) -> None:
        self._trouble("no connection")

    def _on_disconnect(self, _: Any, __: Any, flags: Any, reason: Any, ___: Any) -> None:
        self.connected = False
        if reason.is_failure:
            self._trouble(str(reason) if flags.is_disconnect_packet_from_server else "the connection ended")

    def _trouble(self, why: str) -> None:
        log.log(logging.DEBUG if self._warned else logging.WARNING, "broker %s: %s; waiting", self._url.name, why)
        self._warned = True

    def _on_message(self, _: Any, __: Any, message: Any) -> None:
        properties = message.properties
        self.on_message(
            Message(
                message.topic,
                bytes(message.payload),
                message.mid,
                bool(message.dup),
                getattr(properties, "MessageExpiryInterval", None),
                dict(getattr(properties, "UserProperty", [])),
                self.connection,
            )
        )

    def _on_publish(self, _: Any, __: Any, number: int, reason: Any, ___: Any) -> None:
        then = self._sent.pop(number, None)
        if then is not None:
            then(str(reason) if reason.is_failure else "")
