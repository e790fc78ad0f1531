"""Settings: flags over environment over file, every field by one name, and one line for each error."""

from __future__ import annotations

from pathlib import Path

import pytest

from roamcast.errors import InputError
from roamcast.net.config import configured, gather, names

KEY = {"key": "group.key"}


def test_flags_win_over_the_environment_and_that_over_the_file(tmp_path: Path) -> None:
    file = tmp_path / "node.toml"
    file.write_text(
        'key = "k"\nprotocol = "a"\n[network]\nport = 1\nmtu = 500\n[limits]\nqueue = 7\n[params]\np = 0.5\n'
    )
    environment = {"ROAMCAST_NETWORK_PORT": "2", "ROAMCAST_PROTOCOL": "b", "ROAMCAST_PARAMS_P": "0.6", "PATH": "x"}
    settings = gather(file, environment, {"protocol": "c", "params.q": "1", "log": None})
    config = configured(settings)
    assert (config.protocol, config.network.port, config.network.mtu, config.limits.queue) == ("c", 2, 500, 7)
    assert config.params == {"p": "0.6", "q": "1"}
    assert config.log == ""
    alone = configured(gather(file, {}, {}))
    assert (alone.protocol, alone.network.port, alone.params) == ("a", 1, {"p": 0.5})


def test_every_field_can_be_set_from_the_environment() -> None:
    for name in names():
        variable = "ROAMCAST_" + name.upper().replace(".", "_")
        assert gather(None, {variable: "7"}, {}) == {name: "7"}
    assert gather(None, {"ROAMCAST_PURE": "1", "ROAMCAST_DATA": "x"}, {}) == {}


@pytest.mark.parametrize(
    ("settings", "line"),
    [
        ({"network.port": 0}, "network.port: must be a whole number of at least 1"),
        ({"network.port": "x"}, "network.port: must be a whole number, not a text"),
        ({"netwrk.port": 1}, "unknown setting 'netwrk.port'; did you mean 'network.port'?"),
        ({"limits.queue": -1}, "limits.queue: must be a whole number of at least 1"),
        ({"level": "loud"}, "unknown log level 'loud'"),
        ({"insecure": True}, "insecure and key exclude each other"),
        ({"number": 3}, "number: a node with a key"),
        ({"key": ""}, "a node needs the group's key"),
    ],
)
def test_every_error_is_one_line(settings: dict[str, object], line: str) -> None:
    with pytest.raises(InputError) as caught:
        configured(KEY | settings)
    assert str(caught.value).startswith(line)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("prot = 1", "1: unknown setting 'prot'; did you mean 'protocol'?"),
        ("\nx = ", "2: no value"),
        ("[network]\nprt = 1", "2: unknown setting 'network.prt'; did you mean 'network.port'?"),
        ("foo = 1", "1: unknown setting 'foo'; known: "),
    ],
)
def test_a_wrong_file_is_named(tmp_path: Path, text: str, line: str) -> None:
    (tmp_path / "node.toml").write_text(text)
    with pytest.raises(InputError) as caught:
        gather(tmp_path / "node.toml", {}, {})
    assert str(caught.value).startswith(f"node.toml:{line}")


def test_a_missing_file_gives_one_line(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="cannot read the configuration"):
        gather(tmp_path / "none.toml", {}, {})
