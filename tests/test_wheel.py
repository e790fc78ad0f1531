"""The wheel, pure and compiled, in environments that have nothing else than what it asks for."""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import zipfile
from collections.abc import Callable
from email import message_from_bytes
from email.message import Message
from functools import cache, partial
from pathlib import Path
from subprocess import CompletedProcess

import pytest

import roamcast as rc
from tests.conformance.real import PORT
from tests.support.bare import Bare, build
from tests.support.checkout import setup_py

PATIENCE_S = 60.0
MINE = '''\
from roamcast import EventFrame, Protocol


class Mine(Protocol):
    """A flood of one hop."""

    frames = (EventFrame,)

    def on_publish(self, event):
        self.host.broadcast(EventFrame(event, 1, 0))

    def on_frame(self, frame, sender):
        self.host.deliver(frame.events()[0])
'''
CAMPAIGN = """\
name = "short"
preset = "baldoni"
seeds = 2
world = { duration_s = 20.0 }

[[protocol]]
name = "gossip"
set = { p = [0.2, 0.5] }
"""
SHORT = ["--world", "duration_s=20"]
Made = Callable[..., Bare]
both = pytest.mark.parametrize("kind", ["pure", "compiled"])


@pytest.fixture(scope="module")
def wheels(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """By kind; compiled only if the checkout is, because compiling takes minutes."""
    kinds = ["pure", *(["compiled"] if setup_py()["mode_now"]() == "compiled" else [])]
    return {kind: build(tmp_path_factory.mktemp(kind), pure=kind == "pure") for kind in kinds}


@pytest.fixture(scope="module")
def made(wheels: dict[str, Path], tmp_path_factory: pytest.TempPathFactory) -> Made:
    """Environments by kind of wheel and extras, each made once."""

    @cache
    def of(kind: str, *extras: str) -> Bare:
        if kind not in wheels:
            pytest.skip("the checkout is not compiled, or has changed since; make setup compiles it")
        env = Bare(tmp_path_factory.mktemp("-".join([kind, *extras])), wheels[kind], *extras)
        (env.here / "mine.py").write_text(MINE)
        (env.here / "short.toml").write_text(CAMPAIGN)
        return env

    return of


@pytest.fixture
def bare(made: Made, wheels: dict[str, Path]) -> Callable[..., Bare]:
    """Environments by extras, for what does not depend on the kind of wheel: the faster one."""
    return partial(made, [*wheels][-1])


def output(done: CompletedProcess[str]) -> str:
    """The output of a command that worked and had nothing to complain about."""
    assert (done.returncode, done.stderr) == (0, ""), done.stderr
    return done.stdout


# ---- what is installed


@pytest.mark.parametrize("extra", ["", "data", "figures", "lab", "net", "all"])
def test_everything_an_extra_needs_comes_with_it(bare: Made, extra: str) -> None:
    assert "No broken requirements" in bare(*filter(None, [extra])).check()


@both
def test_the_console_script_says_what_it_is(made: Made, kind: str) -> None:
    mode = {"pure": "pure Python", "compiled": "compiled"}[kind]
    assert output(made(kind).roamcast("--version")) == f"roamcast {rc.__version__} ({mode})\n"


@both
def test_a_run_is_that_of_the_checkout_and_dates_of_files_do_not_matter(made: Made, kind: str) -> None:
    for source in (made(kind).packages / "roamcast").rglob("*.py"):
        os.utime(source, (2e9, 2e9))  # later than any compiled module: in a checkout, these would be out of date
    out = output(made(kind).roamcast("run", "baldoni", "--protocol", "gossip", *SHORT, "--json"))
    expected = rc.simulate("baldoni", "gossip", world={"duration_s": 20})
    assert json.loads(out)["fingerprint"] == expected.fingerprint


def test_what_is_imported_has_all_its_files(bare: Made) -> None:
    """Data files of the package are in the wheel, and so are type hints."""
    assert "Two hundred sensors" in output(bare().roamcast("presets"))
    assert "proximity" in output(bare().roamcast("protocols"))
    assert "full campaign of" in output(bare().roamcast("reproduce", "--kept"))
    for name in ("py.typed", "__init__.pyi", "show/assets"):
        assert (bare().packages / "roamcast" / name).exists()


# ---- a class in the current folder


@both
def test_a_protocol_in_the_current_folder_is_found(made: Made, kind: str) -> None:
    assert "A flood of one hop." in output(made(kind).roamcast("protocols", "mine:Mine"))
    assert "mine:Mine" in output(made(kind).roamcast("run", "baldoni", "--protocol", "mine:Mine", *SHORT))


@both
def test_a_node_needs_no_numpy_and_no_pyarrow_and_finds_a_protocol_in_the_current_folder(made: Made, kind: str) -> None:
    env = made(kind, "net")
    imported = "from importlib.util import find_spec; print([find_spec(name) for name in ('numpy', 'pyarrow')])"
    assert output(env.python(imported)) == "[None, None]\n"
    output(env.roamcast("key", "new", "group.key"))
    words = ["--key", "group.key", "--state", "state", "--interface", "lo", "--port", str(PORT)]
    words += ["--option", "limits.rate_bps=2e6"]  # with the default, a node says how much it sends
    name = f"roamcast-wheel-{os.getpid()}"
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as ready:
        ready.bind(f"\0{name}")
        ready.settimeout(PATIENCE_S)
        node = env.start("node", "--protocol", "mine:Mine", *words, NOTIFY_SOCKET=f"@{name}")
        try:
            assert ready.recv(100) == b"READY=1"
            output(env.roamcast("publish", "weather.roof", "temperature=31.5", "--state", "state"))
            status = json.loads(output(env.roamcast("status", "--state", "state", "--json")))
            assert (status["protocol"], status["published"]) == ("mine:Mine", 1)
        finally:
            node.send_signal(signal.SIGTERM)
            _, complaints = node.communicate(timeout=PATIENCE_S)
    assert (node.returncode, complaints) == (0, "")


# ---- what is missing


def lacks(done: CompletedProcess[str], what: str, extra: str) -> None:
    assert (done.returncode, done.stdout) == (2, "")
    assert re.fullmatch(rf"roamcast: {what}: pip install 'roamcast\[{extra}\]'\n", done.stderr), done.stderr


@pytest.mark.parametrize(
    ("words", "what", "extra"),
    [
        ("run baldoni --log run.parquet", "writing a log needs PyArrow and NumPy", "data"),
        ("why run.parquet", "reading a log needs PyArrow and NumPy", "data"),
        ("replay run.parquet", "replay needs PyArrow and NumPy", "data"),
        ("compare baldoni gossip frugal --out kept", r"keeping runs \(out=…\) needs PyArrow", "data"),
        ("compare baldoni gossip frugal --plot a.svg", "--plot needs matplotlib", "figures"),
        ("sweep baldoni gossip p=0.1,0.5 --plot a.svg", "--plot needs matplotlib", "figures"),
        ("league baldoni --plot a.svg", "--plot needs matplotlib", "figures"),
        ("campaign short.toml", "campaign without --local needs PySpark and PyArrow", "lab"),
        ("campaign short.toml --local", "campaign --local needs PyArrow", "data"),
        ("query kept SQL", "query needs PySpark and PyArrow", "lab"),
        ("report kept", "report needs PyArrow and matplotlib", "figures"),
        ("reproduce", "reproduce needs PySpark, PyArrow and matplotlib", "figures,lab"),
        ("reproduce --plan", "reproduce needs NumPy", "data"),
        ("model distance", "model needs NumPy", "data"),
        ("model distance --figure a.svg", "--figure needs matplotlib and NumPy", "figures"),
        ("node --insecure", "node needs cryptography", "net"),
        ("publish a.b", "publish needs cryptography", "net"),
        ("subscribe true", "subscribe needs cryptography", "net"),
        ("status", "status needs cryptography", "net"),
        ("watch", "watch needs cryptography", "net"),
        ("lab field .", "lab field needs PySpark and PyArrow", "lab"),
        ("trace stats contacts.txt", "a trace needs NumPy and PyArrow", "data"),
        ("trace convert contacts.txt out.csv --to contact-list", "a trace needs NumPy and PyArrow", "data"),
    ],
)
def test_a_missing_extra_is_one_line_that_says_what_to_install(bare: Made, words: str, what: str, extra: str) -> None:
    (bare().here / "contacts.txt").write_text("1 2 0 10\n")
    lacks(bare().roamcast(*words.split()), what, extra)


def test_a_node_that_cannot_write_its_log_says_so_when_it_starts(bare: Made) -> None:
    done = bare("net").roamcast("node", "--insecure", "--state", "logged", "--interface", "lo", "--log", "log")
    lacks(done, "writing a log needs PyArrow and NumPy", "data")


NEEDY = {
    "run.log()": "writing a log needs PyArrow and NumPy: pip install 'roamcast[data]'",
    "run.replay()": "writing a log needs PyArrow and NumPy: pip install 'roamcast[data]'",
    "rc.simulate('baldoni', log='a.parquet')": "writing a log needs PyArrow and NumPy: pip install 'roamcast[data]'",
    "run.plot()": "a figure needs matplotlib: pip install 'roamcast[figures]'",
    "study.pandas()": "a DataFrame needs pandas: pip install 'roamcast[data]'",
    "study.means()": "a DataFrame needs pandas: pip install 'roamcast[data]'",
    "study.plot()": "a figure needs matplotlib: pip install 'roamcast[figures]'",
    "rc.compare('baldoni', ['gossip'], out='kept')": "keeping runs (out=…) needs PyArrow: pip install 'roamcast[data]'",
    "rc.open('tables')": "reading a campaign's tables needs PyArrow: pip install 'roamcast[data]'",
    "rc.Node(key='group.key')": "roamcast.Node needs cryptography: pip install 'roamcast[net]'",
    "rc.connect('state')": "roamcast.connect needs cryptography: pip install 'roamcast[net]'",
}


def test_a_missing_extra_is_an_error_of_one_line_for_programs(bare: Made) -> None:
    program = f"""
import json
from pathlib import Path
import roamcast as rc

Path("tables").mkdir()
short = {{"duration_s": 20}}
run = rc.simulate("baldoni", "gossip", world=short)
study = rc.compare("baldoni", ["gossip", "proximity"], seeds=2, world=short, processes=1)
repr(run), run._repr_html_(), repr(study), study._repr_html_()
lines = {{}}
for code in {list(NEEDY)}:
    try:
        eval(code)
    except rc.InputError as error:
        lines[code] = str(error)
print(json.dumps(lines))
"""
    assert json.loads(output(bare().python(program))) == NEEDY


# ---- what does without


def test_comparing_and_planning_need_no_extra(bare: Made) -> None:
    env = bare()
    compared = json.loads(
        output(env.roamcast("compare", "baldoni", "gossip", "mine:Mine", "--seeds", "2", *SHORT, "--json"))
    )
    assert len(compared["runs"]) == 4
    assert "p=0.5" in output(env.roamcast("sweep", "baldoni", "gossip", "p=0.1,0.5", "--seeds", "2", *SHORT))
    assert "4 runs" in output(env.roamcast("campaign", "plan", "short.toml"))
    assert "speed_max_mps" in output(env.roamcast("fields"))


def test_a_campaign_and_its_report_need_no_spark(bare: Made) -> None:
    env = bare("figures")
    campaign = env.roamcast("campaign", "short.toml", "--local", "--out", "kept")
    assert campaign.returncode == 0, campaign.stderr
    assert "4 of 4 runs finished" in output(env.roamcast("campaign", "status", "kept"))
    assert "report: kept/report.html" in output(env.roamcast("report", "kept"))
    output(env.roamcast("run", "baldoni", "--log", "run.parquet", *SHORT))
    assert "event" in output(env.roamcast("why", "run.parquet"))
    frames = "import roamcast as rc; t = rc.open('kept'); print(len(t.pandas()), t.arrow('summary').num_rows > 0)"
    assert output(env.python(frames)) == "4 True\n"
    lacks(env.roamcast("query", "kept", "select 1"), "query needs PySpark", "lab")
    spark = env.python("import roamcast as rc; rc.open('kept').metrics")
    assert spark.stderr.splitlines()[-1].endswith("starting Spark needs PySpark: pip install 'roamcast[lab]'")


def test_without_java_one_line_says_what_to_install_and_what_does_without(bare: Made) -> None:
    env = bare("lab")
    done = env.roamcast("campaign", "short.toml", "--out", "kept", JAVA_HOME="/nowhere")
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)
    assert done.stderr.startswith("roamcast: Java was not found in JAVA_HOME=/nowhere: Spark needs Java 17 or later; ")
    assert done.stderr.endswith("; or add --local, which does without Java\n")


# ---- what an index shows


@pytest.fixture
def metadata(wheels: dict[str, Path]) -> Message:
    with zipfile.ZipFile(wheels["pure"]) as archive:
        (name,) = [name for name in archive.namelist() if name.endswith(".dist-info/METADATA")]
        return message_from_bytes(archive.read(name))


def links(page: str) -> list[str]:
    outside_examples = re.sub(r"^```.*?^```$", "", page, flags=re.DOTALL | re.MULTILINE)
    return re.findall(r"\]\(([^)\s]+)\)|\b(?:src|href)=\"([^\"]+)\"", outside_examples)


def test_an_index_shows_who_wrote_it_for_whom_and_no_link_that_leads_nowhere(metadata: Message) -> None:
    assert metadata["Author"] == "The roamcast authors"
    assert metadata["License-Expression"] == "Apache-2.0"
    assert metadata["Description-Content-Type"] == "text/markdown"
    assert len(metadata.get_all("Classifier", [])) > 5
    page = metadata.get_payload(decode=True).decode()
    assert page.lstrip().startswith("# roamcast")
    assert [link for link in links(page) if not re.match(r"https?:|#", "".join(link))] == []
