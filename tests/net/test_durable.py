from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from roamcast.errors import InputError
from roamcast.net.durable import DurableValues, FileValues, MemoryValues


@pytest.fixture(params=["memory", "file"])
def vault(request: pytest.FixtureRequest, tmp_path: Path) -> DurableValues:
    return MemoryValues() if request.param == "memory" else FileValues(tmp_path / "a" / "vault")


def test_what_was_stored_last_is_loaded(vault: DurableValues) -> None:
    assert vault.load("boot") is None
    vault.store("boot", b"1")
    vault.store("sequence", b"")
    vault.store("boot", b"two")
    assert vault.load("boot") == b"two"
    assert vault.load("sequence") == b""


def test_files_are_private_and_survive_the_process(tmp_path: Path) -> None:
    FileValues(tmp_path / "v").store("identity", b"secret")
    assert FileValues(tmp_path / "v").load("identity") == b"secret"
    assert (tmp_path / "v" / "identity").stat().st_mode & 0o777 == 0o600
    assert (tmp_path / "v").stat().st_mode & 0o777 == 0o700
    assert os.listdir(tmp_path / "v") == ["identity"], "nothing temporary is left"  # noqa: PTH208


def test_the_old_value_stays_whole_beside_the_new_one(tmp_path: Path) -> None:
    vault = FileValues(tmp_path)
    vault.store("boot", b"the old value")
    with (tmp_path / "boot").open("rb") as old:
        vault.store("boot", b"the new value")
        assert old.read() == b"the old value"
    assert vault.load("boot") == b"the new value"


def test_a_process_killed_at_any_moment_leaves_an_old_or_a_new_value(tmp_path: Path) -> None:
    program = (
        "import sys; from roamcast.net.durable import FileValues; v = FileValues(sys.argv[1])\n"
        "n = int.from_bytes(v.load('boot') or b'', 'big')\n"
        "while True: n += 1; v.store('boot', n.to_bytes(8, 'big')); print(n, flush=True)"
    )
    last = 0
    for _ in range(3):
        child = subprocess.Popen([sys.executable, "-c", program, tmp_path / "v"], stdout=subprocess.PIPE, text=True)
        assert child.stdout is not None
        told = [int(child.stdout.readline()) for _ in range(20)]
        child.kill()
        told += [int(line) for line in child.stdout.read().split()]
        child.wait()
        child.stdout.close()
        found = int.from_bytes(FileValues(tmp_path / "v").load("boot") or b"", "big")
        assert told[0] > last
        assert found in (told[-1], told[-1] + 1), "what was told as stored is there"
        last = found


def test_a_folder_that_cannot_be_made_is_said_in_one_line(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match="cannot keep state in"):
        FileValues(tmp_path / "file" / "vault")
