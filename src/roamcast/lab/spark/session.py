"""Spark, started the way a campaign needs it: embedded by default, quiet, and with our code on its workers.

Workers get the interpreter of the driver and the very package that the driver runs: it is packed and sent with the
application, compiled modules and all (an interpreter for which they are not made passes them over and takes the
sources beside them). `worker.py` looks for an installed package of the same version first.
"""

from __future__ import annotations

import atexit
import hashlib
import logging
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import zipfile
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import roamcast
from roamcast.errors import InputError, Interrupted
from roamcast.extras import need

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

OLDEST_JAVA = 17
WANTED_JAVA = (
    f"Spark needs Java {OLDEST_JAVA} or later; install it (Debian: apt install default-jre-headless) or set JAVA_HOME"
)
JAVA_GONE = "Java, in which Spark runs, has ended; the same command goes on from here"
JAVA_TALKS = ("JAVA_TOOL_OPTIONS", "_JAVA_OPTIONS", "JDK_JAVA_OPTIONS")
"""Variables because of which Java says more of itself than its version."""
EMBEDDED = "local[*]"
ARCHIVE = "roamcast-package"
RETRIES = 12
"""Failures of a task that Spark bears: a few runs that kill their worker, as often as `Folder.begin` lets them."""
LATE_COMPILER = (
    "-XX:Tier4InvocationThreshold=50000 -XX:Tier4MinInvocationThreshold=6000 -XX:Tier4CompileThreshold=150000 "
    "-XX:Tier4BackEdgeThreshold=400000"
)
"""Java optimises what it has done ten times as often as usual. That is soon true of what is done for each row of a log,
and never of most that is done for each job, which took two fifths of Java's processor time in a short campaign."""


def session(
    master: str = EMBEDDED,
    name: str = "roamcast",
    *,
    conf: dict[str, str] | None = None,
    ui: bool = False,
    log: Path | None = None,
    scratch: Path | None = None,
) -> SparkSession:
    """A new session, or the running one of this process. What Spark says goes to the file `log`."""
    need("starting Spark", "pyspark")
    from pyspark.sql import SparkSession

    running = SparkSession.getActiveSession()
    if running is not None:
        return running
    java_version()
    return _start(master, name, _settings(master, conf or {}, ui, scratch), log)


def cores(spark: SparkSession) -> int:
    """How many tasks run at a time, as far as Spark knows by now."""
    return max(1, spark.sparkContext.defaultParallelism)


# ---- Java


def java_options() -> str:
    classes = archived_classes()
    return f'{LATE_COMPILER} "-XX:SharedArchiveFile={classes}"' if classes.exists() else LATE_COMPILER


def archived_classes() -> Path:
    """Where classes.py keeps those of this Spark and this Java: with the packages."""
    import pyspark

    home = Path(java()).resolve().parent.parent
    of = [Path(pyspark.__file__).parent / "jars", home / "lib" / "server" / "classes.jsa"]
    made = [path.stat().st_mtime_ns for path in of if path.exists()]  # new after another installation
    digest = hashlib.blake2b(repr((java_version(), made)).encode(), digest_size=8).hexdigest()
    return Path(sys.prefix) / "var" / "roamcast" / f"spark-{pyspark.__version__}-{digest}.jsa"


def java() -> str:
    """The program; an InputError if there is none."""
    home = os.environ.get("JAVA_HOME")
    program = str(Path(home) / "bin" / "java") if home else shutil.which("java")
    if program is None or not Path(program).exists():
        raise InputError(f"Java was not found{f' in JAVA_HOME={home}' if home else ''}: {WANTED_JAVA}")
    return program


@cache
def java_version() -> str:
    """What Java says of itself; an InputError if it is too old for Spark."""
    plain = {name: value for name, value in os.environ.items() if name not in JAVA_TALKS}
    text = subprocess.run([java(), "-version"], capture_output=True, text=True, check=False, env=plain).stderr
    version = re.search(r'version "(?:1\.)?(\d+)', text)
    if version is None or int(version[1]) < OLDEST_JAVA:
        raise InputError(f"{java()} is {text.splitlines()[0] if text else 'of no version'}: {WANTED_JAVA}")
    return text


# ---- settings


def _settings(master: str, given: dict[str, str], ui: bool, scratch: Path | None) -> dict[str, str]:
    settings = {
        "spark.ui.enabled": str(ui).lower(),
        "spark.ui.showConsoleProgress": "false",
        "spark.task.maxFailures": str(RETRIES),
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.execution.arrow.pyspark.enabled": "true",
        "spark.sql.shuffle.partitions": "16",  # an upper limit: adaptive execution merges small ones
        "spark.sql.parquet.compression.codec": "zstd",
        "spark.driver.memory": "2g",
        "spark.buffer.pageSize": "4m",  # each small table that a join keeps takes one: they were a third of the heap
        "spark.driver.extraJavaOptions": java_options(),
        "spark.log.level": "ERROR",
    }
    if scratch is not None:
        settings["spark.sql.warehouse.dir"] = str(scratch / "warehouse")
    if master.startswith("local"):
        settings |= {"spark.driver.host": "127.0.0.1", "spark.driver.bindAddress": "127.0.0.1"}
        if scratch is not None:
            settings["spark.local.dir"] = str(scratch)
    return settings | given


def _bearing(master: str) -> str:
    """Embedded Spark gives up at the first failure unless its master says otherwise."""
    threads = re.fullmatch(r"local(?:\[([^,\]]+)\])?", master)
    return f"local[{threads[1] or 1},{RETRIES}]" if threads else master


# ---- start


def _start(master: str, name: str, settings: dict[str, str], log: Path | None) -> SparkSession:
    from py4j.protocol import Py4JError, Py4JJavaError
    from pyspark import SparkConf, SparkContext
    from pyspark.logger import PySparkLogger
    from pyspark.sql import SparkSession

    for logger in ("SQLQueryContextLogger", "DataFrameQueryContextLogger"):  # they print what is raised anyway
        PySparkLogger.getLogger(logger).disabled = True
    # the context asks the environment, not the settings, for its workers' interpreter
    python = settings.pop("spark.pyspark.python", None) or os.environ.get("PYSPARK_PYTHON") or sys.executable
    os.environ["PYSPARK_PYTHON"] = python
    conf = SparkConf().setMaster(_bearing(master)).setAppName(name).setAll(list(settings.items()))
    gateway = _launched(conf, log)
    try:
        context = SparkContext(conf=conf, gateway=gateway)
    except Exception as error:
        gone = isinstance(error, Py4JError | ConnectionError | EOFError) and not isinstance(error, Py4JJavaError)
        if gone:
            raise Interrupted(JAVA_GONE) from None
        why = str(getattr(error, "java_exception", error)).strip().splitlines()[0]
        raise InputError(f"Spark did not start on {master}: {why}") from None
    _say_nothing_twice(context)
    if not master.startswith("local"):
        context.addArchive(f"{package()}#{ARCHIVE}")
    return SparkSession(context)


def _launched(conf: Any, log: Path | None) -> Any:
    """Java, with a line to talk to it."""
    from pyspark.errors import PySparkRuntimeError
    from pyspark.java_gateway import launch_gateway

    with (log or Path(os.devnull)).open("ab") as output:
        try:
            return launch_gateway(conf, popen_kwargs={"stderr": output, "stdout": output})  # type: ignore[no-untyped-call]
        except PySparkRuntimeError:
            hint = f"; {log} may say why" if log else ""
            raise Interrupted(f"Java ended before Spark had started{hint}") from None


def _say_nothing_twice(context: Any) -> None:
    """What py4j raises it also prints, call by call, through the root logger as well; so does the server for Spark's
    counters, when Java dies. And Spark asks Java to cancel its jobs when somebody presses Ctrl-C, in the middle of
    another call to Java, which fails."""
    context._accumulatorServer.handle_error = lambda *_: None
    logging.getLogger("py4j").setLevel(logging.CRITICAL)
    logging.getLogger().addFilter(lambda record: "py4j" not in Path(record.pathname).parts)
    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGINT, signal.default_int_handler)


def package() -> Path:
    """The package that is running, with its compiled modules, as an archive that Spark unpacks on its workers."""
    folder = Path(tempfile.mkdtemp(prefix="roamcast-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    source = Path(roamcast.__file__).parent
    target = folder / f"{ARCHIVE}.zip"
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        for path in [*sorted(source.rglob("*")), *sorted(source.parent.glob("*__mypyc*.so"))]:
            if path.is_file() and "__pycache__" not in path.parts:
                archive.write(path, path.relative_to(source.parent))
    return target
