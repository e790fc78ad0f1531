"""The group's keys and their file."""

from __future__ import annotations

from pathlib import Path

import pytest

from roamcast.errors import InputError
from roamcast.net.trust.keys import GroupKey, KeyRing

RING = KeyRing.new()


def test_a_key_file_is_private_and_is_read_back_unchanged(tmp_path: Path) -> None:
    path = tmp_path / "group.key"
    ring = RING.with_next()
    ring.save(path)
    assert path.stat().st_mode & 0o777 == 0o600
    read = KeyRing.load(path)
    assert (read.group, read.keys, read.sending) == (ring.group, ring.keys, ring.sending)
    assert [p.name for p in tmp_path.iterdir()] == ["group.key"]


def test_a_key_file_is_overwritten_only_on_purpose(tmp_path: Path) -> None:
    path = tmp_path / "group.key"
    RING.save(path)
    with pytest.raises(InputError, match="exists"):
        KeyRing.new().save(path)
    assert KeyRing.load(path).keys == RING.keys
    RING.with_next().save(path, replace=True)
    assert len(KeyRing.load(path).keys) == 2


def test_a_key_that_others_can_read_is_not_used(tmp_path: Path) -> None:
    path = tmp_path / "group.key"
    RING.save(path)
    for mode in (0o640, 0o604, 0o660):
        path.chmod(mode)
        with pytest.raises(InputError, match="chmod 600"):
            KeyRing.load(path)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "has group"),
        ("=", "not a group key"),
        ('group = "00"\nsending = "1"\nkeys = ["AA=="]', "32 bytes"),
        ('group = "zz"\nsending = "1"\nkeys = ["?"]', "hexadecimal"),
        ('group = "00"\nsending = "1"\nkeys = [1]', "hexadecimal"),
        (RING.text().replace('sending = "', 'sending = "f'), "no key"),
        (RING.text().replace(RING.group.hex(), "00"), "8 bytes"),
    ],
)
def test_a_wrong_key_file_gives_one_line(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "group.key"
    path.write_text(text)
    path.chmod(0o600)
    with pytest.raises(InputError, match=message) as error:
        KeyRing.load(path)
    assert "\n" not in str(error.value)
    assert str(path) in str(error.value)


def test_a_missing_key_gives_one_line(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="there is no group key"):
        KeyRing.load(tmp_path / "group.key")


def test_a_key_does_not_show_its_secret() -> None:
    secret = bytes(range(32))
    assert secret.hex() not in repr(GroupKey(secret))
    assert str(secret) not in repr(GroupKey(secret))
    assert GroupKey(secret).id != 0


def test_a_ring_has_no_two_keys_of_one_id() -> None:
    with pytest.raises(InputError, match="same id"):
        KeyRing(RING.group, (*RING.keys, *RING.keys), RING.sending.id)
