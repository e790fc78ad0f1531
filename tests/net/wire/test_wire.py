"""docs/reference/wire.md agrees with the code: its vectors are executed, its figures compared."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from cryptography.hazmat.primitives.ciphers.aead import ChaCha20Poly1305

from roamcast.net.air.medium import Network
from roamcast.net.limits import Limits
from roamcast.net.refusal import REASONS
from roamcast.net.trust import positions
from roamcast.net.trust.identity import Identity, node_number
from roamcast.net.trust.keys import GroupKey, KeyRing
from roamcast.net.trust.seals import sealed, signed_bytes
from roamcast.net.wire import codec, costs, packet, replay
from roamcast.net.wire.envelope import Envelope, session_key
from roamcast.net.wire.packet import ACK, FRAME, POSITION, Header
from roamcast.protocols import registry
from roamcast.protocols.kit import wire
from roamcast.pubsub.event import Event

ROOT = Path(__file__).parents[3]
PAGE = (ROOT / "docs" / "reference" / "wire.md").read_text()
VECTORS: dict[str, list[dict[str, Any]]] = tomllib.loads(
    "".join(re.findall(r"^```toml\n(.*?)^```$", PAGE, re.DOTALL | re.MULTILINE))
)


def envelope(vector: dict[str, Any]) -> Envelope:
    ring = None
    if vector["secret"]:
        key = GroupKey(bytes.fromhex(vector["secret"]))
        ring = KeyRing(bytes(8), (key,), key.id)
    made = Envelope(ring, vector["sender"], lambda: int(vector["boot"], 16), 4)
    made.counter = vector["counter"]
    return made


@pytest.mark.parametrize("vector", VECTORS["key"])
def test_keys(vector: dict[str, Any]) -> None:
    secret = bytes.fromhex(vector["secret"])
    assert f"{GroupKey(secret).id:04x}" == vector["id"]
    assert session_key(secret, vector["sender"], int(vector["boot"], 16)).hex() == vector["session_key"]


@pytest.mark.parametrize("vector", VECTORS["identity"])
def test_identities(vector: dict[str, Any]) -> None:
    identity = Identity(bytes.fromhex(vector["seed"]))
    assert identity.public.hex() == vector["public"]
    assert node_number(identity.public) == vector["number"]


@pytest.mark.parametrize("vector", VECTORS["protocol"])
def test_protocols(vector: dict[str, Any]) -> None:
    protocol = registry.get(vector["name"])
    assert (protocol.__name__, f"{codec.protocol_tag(protocol):02x}") == (vector["class"], vector["tag"])


@pytest.mark.parametrize("vector", VECTORS["event"])
def test_publications(vector: dict[str, Any]) -> None:
    group, payload = bytes.fromhex(vector["group"]), bytes.fromhex(vector["payload"])
    event = Event(vector["id"], vector["topic"], vector["attributes"], payload, vector["validity_us"], vector["scope"])
    assert signed_bytes(group, event, payload, vector["time"]).hex() == vector["signed"]
    travelling = sealed(event, Identity(bytes.fromhex(vector["seed"])), group, vector["time"])
    assert travelling.payload.hex() == vector["sealed_payload"]
    public, signature = travelling.payload[-96:-64], travelling.payload[-64:]
    Ed25519PublicKey.from_public_bytes(public).verify(signature, bytes.fromhex(vector["signed"]))


@pytest.mark.parametrize("vector", VECTORS["position"])
def test_positions(vector: dict[str, Any]) -> None:
    identity, group = Identity(bytes.fromhex(vector["seed"])), bytes.fromhex(vector["group"])
    position = (group, vector["sender"], int(vector["boot"], 16), vector["counter"])
    assert positions.signed_position(*position).hex() == vector["signed"]
    public, signature = packet.read_proof(bytes.fromhex(vector["inner"]))
    assert (public, signature) == (identity.public, positions.sign_position(identity, *position))
    Ed25519PublicKey.from_public_bytes(public).verify(signature, bytes.fromhex(vector["signed"]))


@pytest.mark.parametrize("vector", VECTORS["datagram"], ids=lambda v: v["what"])
def test_datagrams(vector: dict[str, Any]) -> None:
    inner, datagram = bytes.fromhex(vector["inner"]), bytes.fromhex(vector["datagram"])
    assert envelope(vector).wrap(vector["kind"], inner) == datagram
    header = packet.read_header(datagram)
    named = (vector["kind"], vector["sender"], int(vector["boot"], 16), vector["counter"])
    assert (header.kind, header.sender, header.boot, header.counter) == named
    assert envelope(vector).unwrap(header, datagram) == inner
    read = {FRAME: packet.read_frame_part, ACK: packet.read_ack, POSITION: packet.read_proof}[vector["kind"]]
    assert read(inner).packed() == inner


@pytest.mark.parametrize("vector", [v for v in VECTORS["datagram"] if v["secret"]], ids=lambda v: v["what"])
def test_datagrams_by_the_page_alone(vector: dict[str, Any]) -> None:
    """With nothing from this package except the session key, which has its own vector."""
    datagram = bytes.fromhex(vector["datagram"])
    key = session_key(bytes.fromhex(vector["secret"]), vector["sender"], int(vector["boot"], 16))
    opened = ChaCha20Poly1305(key).decrypt(bytes(8) + datagram[16:20], datagram[20:], datagram[:20])
    assert opened.hex() == vector["inner"]


def test_the_first_datagram_is_a_frame_with_the_event() -> None:
    inner = bytes.fromhex(VECTORS["datagram"][0]["inner"])
    frame = wire.decode(registry.get("gossip"), packet.read_frame_part(inner).body)
    (event,) = frame.events()
    assert event.payload.hex() == VECTORS["event"][0]["sealed_payload"]


def test_sizes_are_those_on_the_page() -> None:
    addressed = costs.OVERHEAD_BYTES + costs.ADDRESS_BYTES
    part = packet.FRAGMENT_BYTES
    assert (costs.OVERHEAD_BYTES, addressed, costs.ACK_BYTES, costs.SEAL_BYTES) == (38, 44, 42, 100)
    assert (costs.POSITION_BYTES, costs.POSITION_BYTES + 28) == (132, 160)
    rows = [
        "a frame in one datagram | 38 |",
        "… addressed | 44 |",
        "an acknowledgement | 42 |",
        "an event | 100,",
    ]
    assert all(row in PAGE for row in ["a position | 132, with IP and UDP 160:", *rows])
    assert f"n × {costs.OVERHEAD_BYTES + part}, addressed n × {addressed + part}" in PAGE


def test_constants_are_those_on_the_page() -> None:
    limits, network = Limits(), Network()
    assert f"# The wire, version {packet.VERSION}\n" in PAGE
    assert f"| 0 | 1 | magic | `{packet.MAGIC:02x}` |" in PAGE
    assert f"group `{network.group}`, port {network.port}" in PAGE
    assert f"packets of at most {network.mtu} bytes" in PAGE
    assert f"the {replay.WINDOW} counters up to that" in PAGE
    assert f"the {replay.AHEAD} counters of that boot up to it, and the {replay.AHEAD} after it" in PAGE
    assert f"up to {positions.EVERY} counters" in PAGE
    assert limits.position_s == 10, "ten seconds"
    assert (limits.attempts, limits.ack_timeout_s, limits.ack_timeout_max_s) == (6, 0.02, 0.1)
    assert "six times in all, waiting 20, 40, 80 and then 100 ms" in PAGE
    assert (limits.partial_s, wire.MAX_FRAME) == (5.0, 65_535)
    assert len(Header(0, 0, 0, 0, 0).packed()) == 20


def test_limits_in_security_md_are_those_of_the_code() -> None:
    page, limits = (ROOT / "docs" / "explanation" / "security.md").read_text(), Limits()
    for sentence in [
        f"({limits.strangers_per_s:.0f} datagrams a second)",
        f"more than {limits.address_per_s:.0f} datagrams a second in their name",
        f"{limits.sender_frames_per_s:.0f} frames and {limits.sender_bytes_per_s / 1e6:.0f} MB a second",
        f"{limits.sender_signatures_per_s:.0f} new events",
        f"fill the table of senders ({limits.senders})",
        f"the {limits.identities} publishers heard last",
    ]:
        assert sentence in page, sentence
    assert limits.sender_idle_s == 120, "two minutes"


def test_every_reason_is_on_the_page() -> None:
    listed = re.findall(r"^\| ([a-z -]+) \| (.*) \|$", PAGE.partition("## Why something is dropped")[2], re.MULTILINE)
    assert dict(listed) == REASONS
