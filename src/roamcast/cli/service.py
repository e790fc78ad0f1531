"""`roamcast service`: a node as a service of systemd."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from roamcast.cli.help import Verbs
from roamcast.errors import InputError, error_text

app = typer.Typer(cls=Verbs, no_args_is_help=True, add_completion=False, help="A node as a service of systemd.")

UNIT = Path("/etc/systemd/system/roamcast.service")
TEXT = """\
[Unit]
Description=roamcast node
Wants=network.target
After=network.target

[Service]
Type=notify
User={user}
ExecStart={program} node --config {config} --log-format json
ExecReload=/bin/kill -HUP $MAINPID
Environment=ROAMCAST_STATE=/var/lib/roamcast
StateDirectory=roamcast
StateDirectoryMode=0700
Restart=always
RestartSec=2
RestartPreventExitStatus=2

# What a node needs: its state folder, UDP sockets, to learn of interfaces that come and go, and the id of this start
# of the machine (/proc/sys/kernel/random/boot_id, which ProcSubset=pid would hide). Nothing else.
CapabilityBoundingSet=
NoNewPrivileges=yes
UMask=0077
ProtectSystem=strict
ProtectHome={home}
PrivateTmp=yes
{devices}
PrivateUsers=yes
ProtectClock=yes
ProtectControlGroups=yes
ProtectHostname=yes
ProtectKernelLogs=yes
ProtectKernelModules=yes
ProtectKernelTunables=yes
ProtectProc=invisible
RemoveIPC=yes
RestrictAddressFamilies=AF_UNIX AF_INET AF_INET6 AF_NETLINK
RestrictNamespaces=yes
RestrictRealtime=yes
RestrictSUIDSGID=yes
LockPersonality=yes
MemoryDenyWriteExecute=yes
SystemCallArchitectures=native
SystemCallFilter=@system-service
SystemCallFilter=~@privileged @resources

[Install]
WantedBy=multi-user.target
"""
NO_DEVICES = "PrivateDevices=yes"
SERIAL = """\
DevicePolicy=closed
DeviceAllow=char-ttyUSB rw
DeviceAllow=char-ttyACM rw
DeviceAllow=char-ttyAMA rw
DeviceAllow=char-ttyS rw
DeviceAllow=char-rfcomm rw
SupplementaryGroups=dialout"""

User = Annotated[str, typer.Option(metavar="NAME", help="Who runs it: useradd --system --no-create-home NAME.")]
Settings = Annotated[Path, typer.Option(metavar="FILE", help="The node's settings.")]
Serial = Annotated[bool, typer.Option("--serial", help="The node has a modem on a serial line.")]


@app.callback()
def service() -> None:
    """A node as a service of systemd."""


@app.command()
def show(user: User = "roamcast", config: Settings = Path("/etc/roamcast/node.toml"), serial: Serial = False) -> None:
    """Print the unit that `install` would write."""
    print(unit(user, config, serial), end="")


@app.command()
def install(
    user: User = "roamcast",
    config: Settings = Path("/etc/roamcast/node.toml"),
    serial: Serial = False,
    to: Annotated[Path, typer.Option(metavar="FILE", help="Where the unit goes.")] = UNIT,
) -> None:
    """Write a hardened unit for systemd, and say what is left to do."""
    from roamcast import files

    text = unit(user, config, serial)
    try:
        files.write(to, text.encode(), mode=0o644, durable=True, overwrite=True)
    except OSError as error:
        raise InputError(f"cannot write {to}: {error_text(error)}; root can, or use --to FILE") from None
    print(f"{to} is written. Now: systemctl daemon-reload && systemctl enable --now {to.stem}")


def unit(user: str, config: Path, serial: bool) -> str:
    import re
    import shutil
    import sys

    if not re.fullmatch(r"[a-z_][a-z0-9_-]*", user):
        raise InputError(f"--user {user!r}: is not the name of a user")
    if not config.is_absolute() or re.search(r"[\s%\"'\\]", str(config)):
        raise InputError(f"--config {config}: must be an absolute path, without spaces and quotes")
    program = str(Path(shutil.which("roamcast") or f"{Path(sys.executable).parent}/roamcast").absolute())
    home = "read-only" if program.startswith(("/home/", "/root/")) else "yes"
    return TEXT.format(user=user, program=program, config=config, home=home, devices=SERIAL if serial else NO_DEVICES)
