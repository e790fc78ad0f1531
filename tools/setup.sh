#!/usr/bin/env bash
# Make a checkout ready: .venv with the pinned packages, compiled modules, Java (and 200 MB of its classes, for a quick
# start of Spark), a browser. Says what it did; does nothing twice.
#   PYTHON=python3.13   the interpreter to use    ROAMCAST_PURE=1   do not compile
set -eu
cd "$(dirname "$0")/.."

say() { printf 'setup: %s\n' "$*"; }
give_up() { printf 'setup: %s\n' "$*" >&2; exit 1; }

may_install() { [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; }
install() {
  say "installing by apt: $*"
  export DEBIAN_FRONTEND=noninteractive
  apt-get install -y -qq --no-install-recommends "$@" >/dev/null 2>&1 ||
    { apt-get update -qq >/dev/null 2>&1 && apt-get install -y -qq --no-install-recommends "$@" >/dev/null 2>&1; }
}

# ---- Python 3.11 or later

recent() { "$1" -c 'import sys; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1; }
find_python() {
  for candidate in ${PYTHON:-python3.11 python3.12 python3.13 python3}; do
    if recent "$candidate"; then
      "$candidate" -c 'import sys; print(sys.executable)'
      return
    fi
  done
  return 1
}

if ! recent .venv/bin/python; then
  python=$(find_python) || { may_install && install python3 python3-venv python3-dev && python=$(find_python); } ||
    give_up "no Python 3.11 or later found; install one (Debian: apt-get install python3 python3-venv python3-dev)" \
      "or name it: PYTHON=/path/to/python3 make setup"
  if ! "$python" -c 'import ensurepip, venv' 2>/dev/null; then
    { may_install && install "python$("$python" -c 'import sys; print("%d.%d" % sys.version_info[:2])')-venv"; } ||
      give_up "$python has no venv module (Debian: apt-get install python3-venv)"
  fi
  rm -rf .venv
  "$python" -m venv .venv
  say "made .venv with $(.venv/bin/python -V)"
fi

# ---- packages, as pinned

packages=$(cat constraints.txt pyproject.toml | sha256sum)
if [ "$(cat .venv/packages 2>/dev/null)" != "$packages" ]; then
  say "installing packages"
  pip() { .venv/bin/python -m pip install -qq --disable-pip-version-check -c constraints.txt "$@"; }
  # what builds roamcast comes first, so that its own installation needs no second, isolated environment
  pip 'setuptools>=77' 'mypy[mypyc]' librt
  ROAMCAST_PURE=1 pip --no-build-isolation -e '.[dev]'
  printf '%s' "$packages" >.venv/packages
fi

# ---- compiled modules

if [ "${ROAMCAST_PURE:-0}" = 0 ]; then
  headers=$(.venv/bin/python -c 'import sysconfig; print(sysconfig.get_path("include"))')/Python.h
  missing=
  command -v "${CC:-cc}" >/dev/null || missing="gcc libc6-dev"
  [ -e "$headers" ] || missing="${missing:+$missing }python3-dev"
  # shellcheck disable=SC2086
  if [ -n "$missing" ] && ! { may_install && install $missing; }; then
    say "cannot compile without $missing (Debian: apt-get install $missing); plain Python works, more slowly"
  fi
fi
mkdir -p build
before=$(head -n 1 build/compiled 2>/dev/null || true)
.venv/bin/python setup.py -q compile >build/compile.log 2>&1 || { cat build/compile.log; give_up "compiling failed"; }
now=$(head -n 1 build/compiled)
mode=$(sed -n 2p build/compiled)
if [ "$before" = "$now" ]; then say "$mode (nothing changed)"; else say "$mode"; fi
case $mode in *refused*) grep -E 'error:' build/compile.log | head -5 ;; esac

# ---- Java, for Spark

java_major() { "$1" -version 2>&1 | sed -nE 's/.*version "([0-9]+).*/\1/p;q'; }
find_java() {
  for candidate in "${JAVA_HOME:+$JAVA_HOME/bin/java}" "$(command -v java || true)" /usr/lib/jvm/*/bin/java; do
    [ -x "$candidate" ] || continue
    major=$(java_major "$candidate")
    if [ "${major:-0}" -ge 17 ]; then
      printf 'Java %s (%s)' "$major" "$candidate"
      return
    fi
  done
  return 1
}
if ! java=$(find_java) && may_install; then
  install openjdk-17-jre-headless || install default-jre-headless || true
  java=$(find_java) || java=
fi
say "${java:-no Java 17 or later found; Spark campaigns need one (Debian: apt-get install default-jre-headless)}"

# ---- Spark starts in half the time with Java's classes kept in a file (src/roamcast/lab/spark/classes.py)

if [ -n "$java" ]; then
  kept=$(.venv/bin/python -m roamcast.lab.spark.classes 2>build/classes.log) ||
    kept="Spark's classes could not be kept (build/classes.log); it starts without, more slowly"
  say "$kept"
fi

# ---- a browser, in which the tests look at pages

if ! command -v chromium >/dev/null || ! command -v chromedriver >/dev/null; then
  if may_install; then install chromium chromium-driver || true; fi
fi
if command -v chromium >/dev/null && command -v chromedriver >/dev/null; then
  say "Chromium ($(command -v chromium))"
else
  say "no Chromium with its driver found; tests of pages are skipped (Debian: apt-get install chromium chromium-driver)"
fi

# ---- an MQTT broker, for the tests of the bridge

PATH="$PATH:/usr/sbin"
if command -v mosquitto >/dev/null || { may_install && install mosquitto; }; then
  say "mosquitto"
else
  say "no mosquitto (Debian: apt-get install mosquitto); tests of the bridge to MQTT are skipped"
fi

# ---- iproute2, for the tests that put nodes into network namespaces

if command -v ip >/dev/null || { may_install && install iproute2; }; then
  say "iproute2"
else
  say "no iproute2 (Debian: apt-get install iproute2); tests of real nodes use the loopback interface instead"
fi
