"""A node as a service: the unit gives it what it needs, and systemd agrees that this is little."""

from __future__ import annotations

import configparser
import json
import re
import shutil
import subprocess
import tomllib
from pathlib import Path

import pytest

from roamcast.cli.service import SERIAL, unit
from tests.cli.conftest import OneLine, Typed
from tests.support.checkout import ROOT

CONFIG = Path("/etc/roamcast/node.toml")
EXPOSURE_MAX = 3.0


def read(text: str) -> configparser.ConfigParser:
    parser = configparser.ConfigParser(strict=False, interpolation=None)
    parser.optionxform = str  # type: ignore[assignment, method-assign]
    parser.read_string(text)
    return parser


def test_the_unit_starts_a_node_and_gives_it_nothing_else(roamcast: Typed) -> None:
    code, out, _ = roamcast("service", "show", "--user", "mesh", "--config", "/etc/mesh.toml")
    assert code == 0
    service = read(out)["Service"]
    assert service["User"] == "mesh"
    assert re.fullmatch(r"/\S+/roamcast node --config /etc/mesh.toml --log-format json", service["ExecStart"])
    assert (service["Type"], service["Restart"], service["RestartPreventExitStatus"]) == ("notify", "always", "2")
    assert (service["CapabilityBoundingSet"], service["NoNewPrivileges"], service["UMask"]) == ("", "yes", "0077")
    assert set(service["RestrictAddressFamilies"].split()) == {"AF_UNIX", "AF_INET", "AF_INET6", "AF_NETLINK"}
    assert service["PrivateDevices"] == "yes"
    assert "ProcSubset" not in service, "a node reads the id of this start of the machine"


def test_with_a_modem_it_gets_serial_lines(roamcast: Typed) -> None:
    _, out, _ = roamcast("service", "show", "--serial")
    assert SERIAL in out
    assert {f"DeviceAllow=char-{kind} rw" for kind in ("ttyUSB", "ttyACM", "ttyAMA", "ttyS")} <= set(out.splitlines())
    assert "PrivateDevices" not in out


@pytest.mark.parametrize("serial", [False, True])
def test_systemd_finds_little_exposure(tmp_path: Path, serial: bool) -> None:
    if shutil.which("systemd-analyze") is None:
        pytest.skip("there is no systemd-analyze")
    path = tmp_path / "roamcast.service"
    path.write_text(unit("roamcast", CONFIG, serial))
    words = ["systemd-analyze", "security", "--offline=true", "--no-pager", str(path)]
    done = subprocess.run(words, capture_output=True, text=True, timeout=60)
    if "Unknown command verb" in done.stderr or "unrecognized option" in done.stderr:
        pytest.skip("this systemd-analyze cannot look at a file")
    exposure = re.search(r"Overall exposure level for \S+: ([\d.]+)", done.stdout)
    assert exposure is not None, done.stderr
    print(exposure[0])
    assert float(exposure[1]) < EXPOSURE_MAX


def test_install_writes_the_unit_and_says_what_is_left(roamcast: Typed, tmp_path: Path) -> None:
    target = tmp_path / "mesh.service"
    code, out, _ = roamcast("service", "install", "--to", str(target))
    assert (code, out) == (0, f"{target} is written. Now: systemctl daemon-reload && systemctl enable --now mesh\n")
    assert target.read_text() == unit("roamcast", CONFIG, False)
    assert target.stat().st_mode & 0o777 == 0o644
    assert roamcast("service", "install", "--to", str(target))[0] == 0, "again, after an update"


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["service", "install", "--to", "nowhere/x.service"], "cannot write nowhere/x.service: no such file"),
        (["service", "show", "--user", "a b"], "--user 'a b': is not the name of a user"),
        (["service", "show", "--config", "here.toml"], "--config here.toml: must be an absolute path"),
        (["service", "show", "--config", "/a b.toml"], "--config /a b.toml: must be an absolute path"),
    ],
)
def test_wrong_input_is_one_line(one_line: OneLine, words: list[str], message: str) -> None:
    one_line(words, message)


def test_the_container_file_names_extras_and_options_that_exist(roamcast: Typed) -> None:
    text = (ROOT / "Containerfile").read_text()
    extras = re.search(r"'\.\[([\w,]+)\]'", text)
    assert extras is not None
    known = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    assert set(extras[1].split(",")) <= set(known)
    for command in re.findall(r"^(?:CMD|HEALTHCHECK .*CMD) (\[.*\])$", text, re.MULTILINE):
        words = [word for word in json.loads(command) if word != "roamcast"]
        _, out, _ = roamcast(words[0], "--help")
        assert all(word in out for word in words[1:] if word.startswith("--"))
