"""The media in a node's settings: one table or several, and one line for each error."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from roamcast.errors import InputError
from roamcast.net.air.medium import Network
from roamcast.net.air.serial import Line, SerialMedium
from roamcast.net.air.udp import UdpMedium
from roamcast.net.air.unicast import Peers
from roamcast.net.config import Config, configured, gather
from roamcast.net.node.node import Node

SEVERAL = """
key = "k"
[network]
port = 7000
[network.mesh]
interface = "wlan0"
[network.modem]
medium = "serial"
device = "/dev/ttyUSB0"
bps = 5470
share = 0.01
port = 1
[network.uplink]
medium = "unicast"
peers = ["station.example", "192.0.2.7:7668"]
"""


def from_text(tmp_path: Path, text: str, environment: dict[str, str] | None = None, **flags: Any) -> Config:
    (tmp_path / "node.toml").write_text(text)
    return configured(gather(tmp_path / "node.toml", environment or {}, flags))


def test_one_table_is_one_medium_as_ever(tmp_path: Path) -> None:
    config = from_text(tmp_path, 'key = "k"\n[network]\nport = 7000\n')
    assert (config.network, config.media) == (Network(port=7000), ())
    assert [(named.name, named.kind) for named in config.all_media()] == [("udp", "udp")]
    assert configured({"key": "k"}).network == Network()


def test_one_table_may_be_another_medium(tmp_path: Path) -> None:
    config = from_text(tmp_path, 'key = "k"\n[network]\nmedium = "serial"\ndevice = "x"\nbps = 300\n')
    assert [(m.name, m.kind, m.settings) for m in config.media] == [("serial", "serial", Line(device="x", bps=300.0))]


def test_several_tables_are_several_media_in_their_order(tmp_path: Path) -> None:
    config = from_text(tmp_path, SEVERAL)
    assert [(m.name, m.settings) for m in config.all_media()] == [
        ("mesh", Network(interface="wlan0", port=7000)),
        ("modem", Line(device="/dev/ttyUSB0", bps=5470.0, share=0.01, port=1)),
        ("uplink", Peers(peers=("station.example", "192.0.2.7:7668"), port=7000)),
    ]
    node = Node(Config(insecure=True, media=config.media))
    assert isinstance(node._media, dict)
    assert [type(medium) for medium in node._media.values()][:2] == [UdpMedium, SerialMedium]


def test_environment_and_flags_reach_each_table(tmp_path: Path) -> None:
    environment = {"ROAMCAST_NETWORK_MODEM_TX_DELAY_MS": "50", "ROAMCAST_NETWORK_UPLINK_PEERS": "a, b:1"}
    config = from_text(tmp_path, SEVERAL, environment, **{"network.mesh.interface": "lo"})
    mesh, modem, uplink = (named.settings for named in config.media)
    assert isinstance(mesh, Network)
    assert isinstance(modem, Line)
    assert isinstance(uplink, Peers)
    assert (mesh.interface, modem.tx_delay_ms, uplink.peers) == ("lo", 50, ("a", "b:1"))


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ('[network.a]\nmedium = "pigeon"', "unknown medium 'pigeon'"),
        ("[network.a]\nprt = 1", "unknown setting 'network.a.prt'; did you mean 'network.a.port'?"),
        ("[network.a]\nport = 0", "network.a.port: must be a whole number of at least 1"),
        ('[network.a]\nmedium = "serial"\nmtu = 10', "network.a.mtu: must be a whole number of at least 64"),
        ('[network]\ndevice = "x"\n[network.a]\nport = 1', "unknown setting 'network.device'"),
        ('[network]\nmedium = "serial"\ngroup = "x"', "unknown setting 'network.group'"),
        ('[network]\nmedium = "nowhere:Medium"', "medium 'nowhere:Medium' cannot be loaded"),
        ('[network]\nmedium = "pathlib:Path"', "medium 'pathlib:Path': pathlib:Path is not a subclass of roamcast"),
        ('[network.a]\nmedium = "unicast"\npeers = [1]', "network.a.peers[0]: must be a text"),
    ],
)
def test_every_error_is_one_line(tmp_path: Path, text: str, line: str) -> None:
    with pytest.raises(InputError) as caught:
        from_text(tmp_path, f'key = "k"\n{text}\n')
    assert str(caught.value).startswith(line)
    assert "\n" not in str(caught.value)


def test_a_medium_that_cannot_be_made_is_named() -> None:
    config = configured({"insecure": True, "network.a.medium": "serial", "network.b.port": 1})
    with pytest.raises(InputError) as caught:
        Node(config)
    assert str(caught.value) == "network.a: a serial medium needs a device, such as /dev/ttyUSB0"
