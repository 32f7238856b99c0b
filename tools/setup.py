"""Set up a clone: check the machine, make .venv, install the locked packages, fetch the jars.

S1  Every reason to stop is one sentence that says what to do, and exit code 1.
S2  What is installed is what requirements.lock names, by hash, with the tools that build pyspark.
Standard library only, and no syntax newer than Python 3.6: a Python that is too old must be able to
start this file in order to be told so. A second run finds the stamp and only checks.
"""

import hashlib
import os
import re
import shutil
import subprocess
import sys
import tempfile

OLDEST, NEWEST = (3, 10), (3, 13)
JAVA = 17
ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
VENV = os.path.join(ROOT, ".venv")
VENV_PYTHON = os.path.join(VENV, "bin", "python")
STAMP = os.path.join(VENV, ".ready")
LOG = os.path.join(VENV, "setup.log")
LOCK = os.path.join(ROOT, "requirements.lock")
BUILD_TOOLS = ("packaging", "setuptools", "wheel")
UNREACHABLE = re.compile(
    "NewConnectionError|Failed to establish a new connection|NameResolutionError|ConnectTimeout"
    "|Temporary failure in name resolution|Network is unreachable|Connection refused|ProxyError"
    "|Read timed out|ReadTimeout|Connection reset|Cannot connect to proxy|Could not fetch URL"
)


class Stop(Exception):
    """The one sentence that is printed before the exit (S1)."""


def main():
    """Run the checks and the steps in order; the exit code."""
    try:
        python = fitting_python()
        check_java()
        if not venv_fits():
            make_venv(python)
        if stamp_text() != read(STAMP):
            install_packages()
        fetch_jars()
        with open(STAMP, "w") as stamp:
            stamp.write(stamp_text())
    except Stop as stop:
        sys.stderr.write("setup: {}\n".format(stop))
        return 1
    say("ready: .venv, packages and jars")
    return 0


def say(text):
    """Tell what is going on."""
    print("setup: " + text, flush=True)


def read(path):
    """The text of a file, empty if there is none."""
    try:
        with open(path, encoding="utf-8") as file:
            return file.read()
    except OSError:
        return ""


def dotted(version):
    """(3, 10) -> 3.10."""
    return ".".join(str(part) for part in version)


def output(command):
    """What a command prints on both streams; empty if it fails or cannot be started."""
    try:
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=60)
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout.decode("utf-8", "replace") if done.returncode == 0 else ""


def version_of(python):
    """The (major, minor) of a Python command, None if it does not run."""
    text = output([python, "-c", "import sys; print('%d.%d' % sys.version_info[:2])"]).strip()
    found = re.match(r"(\d+)\.(\d+)$", text)
    return (int(found.group(1)), int(found.group(2))) if found else None


def fitting_python():
    """This Python if its version fits, else the newest fitting one on the path."""
    if OLDEST <= tuple(sys.version_info[:2]) <= NEWEST:
        return sys.executable
    for minor in range(NEWEST[1], OLDEST[1] - 1, -1):
        command = shutil.which("python3.{}".format(minor))
        if command and version_of(command) == (3, minor):
            return command
    raise Stop(
        "rollview needs Python {} to {} and python3 is {}: install one of these"
        " (as python3.X on the PATH) and run make again.".format(
            dotted(OLDEST), dotted(NEWEST), dotted(sys.version_info[:3])
        )
    )


def java_major(text):
    """The feature number in what `java -version` prints: 8 for 1.8.0_392; None if there is none."""
    found = re.search(r'version "(?:1\.)?(\d+)', text)
    return int(found.group(1)) if found else None


def check_java():
    """Java as Spark finds it: JAVA_HOME if set, else the path."""
    home = os.environ.get("JAVA_HOME")
    command = os.path.join(home, "bin", "java") if home else "java"
    place = "JAVA_HOME ({})".format(home) if home else "the PATH"
    remedy = "install Java {} or newer{} and run make again.".format(
        JAVA, ", or correct JAVA_HOME," if home else ""
    )
    major = java_major(output([command, "-version"]))
    if major is None:
        raise Stop("Spark needs Java and there is no working java in {}: {}".format(place, remedy))
    if major < JAVA:
        raise Stop(
            "Spark needs Java {} and the java in {} is Java {}: {}".format(
                JAVA, place, major, remedy
            )
        )


def venv_fits():
    """Whether .venv is there, runs, belongs to this folder and has a fitting Python."""
    version = version_of(VENV_PYTHON)
    if version is None or not OLDEST <= version <= NEWEST:
        return False
    prefix = output([VENV_PYTHON, "-c", "import sys; print(sys.prefix)"]).strip()
    return os.path.realpath(prefix) == os.path.realpath(VENV)


def make_venv(python):
    """Make .venv anew with `python`."""
    if not output([python, "-c", "import ensurepip, venv; print('both')"]):
        raise Stop(
            "{} has no venv module: install it (on Debian and Ubuntu it is the package"
            " python3-venv) and run make again.".format(python)
        )
    say("making .venv with Python {}".format(dotted(version_of(python))))
    shutil.rmtree(VENV, ignore_errors=True)
    done = subprocess.run([python, "-m", "venv", VENV])
    if done.returncode != 0:
        raise Stop(
            "{} -m venv failed, with the message above: mend that and run make again.".format(
                python
            )
        )


def stamp_text():
    """What decides whether the packages in .venv are the right ones."""
    text = read(LOCK) + read(os.path.join(ROOT, "pyproject.toml"))
    return hashlib.sha256(text.encode("utf-8")).hexdigest()


def install_packages():
    """The build tools first, so that pyspark is built by the locked ones (S2); then the rest."""
    say("installing the locked packages (pyspark is 450 MB: the first time takes minutes)")
    blocks = re.findall(r"^\S.*(?:\n +--hash.*)*", read(LOCK), re.MULTILINE)
    tools = [block for block in blocks if block.split("==")[0] in BUILD_TOOLS]
    with tempfile.TemporaryDirectory() as scratch:
        build_lock = os.path.join(scratch, "build.lock")
        with open(build_lock, "w", encoding="utf-8") as file:
            file.write("\n".join(tools) + "\n")
        pip("--require-hashes", "-r", build_lock)
    pip("--require-hashes", "--no-build-isolation", "-r", LOCK)
    pip("--no-deps", "--no-build-isolation", "--no-index", "-e", ROOT)


def pip(*arguments):
    """One `pip install`: downloads are shown, everything goes to the log."""
    command = [VENV_PYTHON, "-m", "pip", "--disable-pip-version-check", "install"]
    environment = dict(os.environ, PYTHONUNBUFFERED="1")
    lines = []
    with subprocess.Popen(
        command + list(arguments),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        env=environment,
    ) as process:
        for raw in process.stdout:
            line = raw.decode("utf-8", "replace").rstrip()
            lines.append(line)
            if line.lstrip().startswith("Downloading"):
                say(line.strip())
    with open(LOG, "a", encoding="utf-8") as log:
        log.write("\n".join(lines) + "\n")
    if process.returncode != 0:
        raise Stop(pip_failure(lines))


def pip_failure(lines):
    """The sentence for a failed pip: no network, or whatever its last line says."""
    if UNREACHABLE.search("\n".join(lines)):
        return (
            "the Python package index cannot be reached: connect to the network (behind a proxy,"
            " set HTTPS_PROXY) and run make again."
        )
    errors = [line for line in lines if line.startswith("ERROR:")] or lines[-1:] or ["no message"]
    return "pip failed ({}): see .venv/setup.log, mend that and run make again.".format(errors[-1])


def fetch_jars():
    """Fill the cache of jars, by the product's own module."""
    done = subprocess.run(
        [VENV_PYTHON, "-m", "rollview.spark.jars"], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    if done.returncode != 0:
        text = done.stderr.decode("utf-8", "replace").strip()
        with open(LOG, "a", encoding="utf-8") as log:
            log.write(text + "\n")
        raise Stop(jars_failure(text))


def jars_failure(text):
    """The sentence for jars that did not come: no network, or what the product says."""
    if "cannot fetch" in text:
        return (
            "Maven Central cannot be reached for the Delta Lake jars: connect to the network"
            " (behind a proxy, set JAVA_TOOL_OPTIONS to"
            " -Dhttps.proxyHost=... -Dhttps.proxyPort=...) and run make again."
        )
    reason = "; ".join(line for line in text.splitlines() if not line.startswith("fetching "))
    return "the Delta Lake jars are not there ({}): mend that and run make again.".format(reason)


if __name__ == "__main__":
    sys.exit(main())
