"""Whether an interface can send, in namespaces of its own, where cables can be pulled."""

from __future__ import annotations

import socket
import subprocess
import time

import pytest

from roamcast.net.air import link
from tests.support.namespaces import Namespaces

PATIENCE_S = 20.0


def ip(*words: str) -> None:
    subprocess.run(["ip", *words], check=True)


def becomes(sock: socket.socket, interface: str, up: bool) -> bool:
    """The kernel notices a carrier after up to a second."""
    deadline = time.monotonic() + PATIENCE_S
    while link.up(sock, interface) != up and time.monotonic() < deadline:
        time.sleep(0.02)
    return link.up(sock, interface) == up


def test_a_link_is_up_while_it_is_switched_on_and_has_a_carrier() -> None:
    try:
        places = Namespaces(1)
    except (OSError, subprocess.CalledProcessError) as error:
        pytest.skip(f"no network namespaces ({error})")
    with places:
        with places.inside(0):
            sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        with sock:
            with places.inside(0):
                ip("link", "add", "near", "type", "veth", "peer", "name", "far")
                ip("addr", "add", "192.0.2.1/24", "dev", "near")
            steps = {"far up": False, "near up": True, "far down": False, " far up": True, "near down": False}
            for change, up in steps.items():
                with places.inside(0):
                    ip("link", "set", *change.split())
                assert becomes(sock, "near", up), change
            assert not link.up(sock, "nowhere")


def test_without_a_name_any_interface_does_except_the_loopback() -> None:
    try:
        places = Namespaces(1)
    except (OSError, subprocess.CalledProcessError) as error:
        pytest.skip(f"no network namespaces ({error})")
    with places:
        with places.inside(0):
            sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
            ip("link", "set", "lo", "up")
            ip("link", "del", "air")
        with sock:
            assert becomes(sock, "", False)
            with places.inside(0):
                ip("link", "add", "near", "type", "veth", "peer", "name", "far")
                ip("addr", "add", "192.0.2.1/24", "dev", "near")
                for interface in ("near", "far"):
                    ip("link", "set", interface, "up")
            assert becomes(sock, "lo", True)
            assert becomes(sock, "", True)
            with places.inside(0):
                ip("link", "set", "near", "down")
            assert becomes(sock, "", False)
