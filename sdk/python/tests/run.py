#!/usr/bin/env python3
"""Builds the SDK, installs the wheel and the sdist into clean directories, and tests what is there on every Python that can be
found, with mypy and the reference: run.py [SERVER [python3.9 …]]
"""

import filecmp
import glob
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import time
import zipfile
from concurrent.futures import ThreadPoolExecutor

here = os.path.dirname(os.path.abspath(__file__))
sdk = os.path.dirname(here)
server = os.path.abspath(sys.argv[1] if len(sys.argv) > 1 else os.path.join(sdk, "../../bin/publicapi"))
TOOLS = "from importlib.util import find_spec; print(all(map(find_spec, ('build', 'pip', 'setuptools', 'wheel'))))"  # what builds and installs packages
LIMIT = 150  # seconds that the tests of one Python may take on a busy machine
failed = []


def run(name, *command, cwd=None, limit=120, **environment):
    """Runs a program, prints what came of it, and returns what it says."""
    began = time.monotonic()
    process = subprocess.Popen(command, cwd=cwd, env={**os.environ, **environment}, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    try:
        out, _ = process.communicate(timeout=limit)
    except subprocess.TimeoutExpired:
        process.terminate()  # it ends its own servers
        out, _ = process.communicate(timeout=30)
        out += f"\nit took more than {limit} s"
    check(f"{name}  {time.monotonic() - began:.1f} s", process.returncode == 0, out)
    return out


def check(name, good, more=""):
    sys.stdout.write(f"{'ok' if good else 'FAILED'}  {name}\n" + ("" if good else f"{more}\n"))
    sys.stdout.flush()
    if not good:
        failed.append(name)


def answers(python, code):
    try:
        return subprocess.run([python, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, timeout=30).stdout.strip()
    except (OSError, subprocess.TimeoutExpired):
        return ""


def pythons():
    """A Python of each version from 3.9 on: of pyenv, or of PATH."""
    if len(sys.argv) > 2:
        return sys.argv[2:]
    root = os.environ.get("PYENV_ROOT", os.path.expanduser("~/.pyenv"))
    found = {}
    for python in [*sorted(glob.glob(f"{root}/versions/3.*/bin/python3")), *(f"python3.{minor}" for minor in range(9, 20)), "/usr/bin/python3", "python3"]:
        minor = int(answers(python, "import sys; print(sys.version_info[1] if sys.version_info[0] == 3 else 0)") or 0)
        if minor >= 9:
            found.setdefault(minor, python)
    check(f"Python {', '.join(f'3.{minor}' for minor in sorted(found))}", bool(found), "there is no Python 3.9 or later")
    return [found[minor] for minor in sorted(found)]


def builder():
    """A Python with the tools, such as Debian's."""
    return next((python for python in ("/usr/bin/python3", "python3", sys.executable) if answers(python, TOOLS) == "True"), None)


def build(python, clean):
    """Builds the sdist, and the wheel from it. Installs each; returns the directories that they are in."""
    source = os.path.join(clean, "source")  # where a build may leave its files
    shutil.copytree(sdk, source, ignore=shutil.ignore_patterns("__pycache__", "build", "dist", "*.egg-info", "tests"))
    dist = os.path.join(clean, "dist")
    run("build", python, "-m", "build", "--no-isolation", "--outdir", dist, source)
    files = [os.path.join(dist, name) for name in sorted(os.listdir(dist))] if os.path.isdir(dist) else []
    check("a wheel and an sdist", [name.endswith((".whl", ".tar.gz")) for name in files] == [True, True], files)
    if failed:
        return []
    wheel, sdist = sorted(files, key=lambda name: name.endswith(".tar.gz"))
    with zipfile.ZipFile(wheel) as archive:
        stray = [name for name in archive.namelist() if not re.match(r"namewharf/(\w+/)?(\w+\.py|py\.typed)$|namewharf-[\d.]+\.dist-info/", name)]
        check("the wheel has the right files", not stray and "namewharf/py.typed" in archive.namelist(), stray)
    with tarfile.open(sdist) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
        missing = {"README.md", "CHANGELOG.md", "LICENSE", "pyproject.toml", "src/namewharf/py.typed"} - names
        check("the sdist has the right files", not missing, missing)
    places = []
    for kind, file in (("wheel", wheel), ("sdist", sdist)):
        place = os.path.join(clean, kind)
        run(f"a clean directory for the {kind}", python, "-m", "venv", "--without-pip", place)
        (site,) = glob.glob(f"{place}/lib/python3*/site-packages")
        run(f"install the {kind}", python, "-m", "pip", "install", "--quiet", "--no-index", "--no-deps", "--no-build-isolation", "--target", site, file)
        places.append((place, site))
    same = filecmp.dircmp(*(os.path.join(site, "namewharf") for _, site in places), ignore=["__pycache__"])
    check("both install the same", not (same.left_only or same.right_only or same.diff_files), (same.left_only, same.right_only, same.diff_files))
    return places


def types(place):
    """mypy --strict on a user's program with the installed package, and on the SDK."""
    python = os.path.join(place, "bin/python")
    user = os.path.join(place, "user.py")
    shutil.copy(os.path.join(here, "user.py"), user)
    for version in ("3.9", "3.11"):
        arguments = ["--strict", "--python-executable", python, "--python-version", version, "--cache-dir", os.path.join(place, f"mypy{version}"), user]
        run(f"mypy --strict, a user's program, Python {version}", "mypy", *arguments, cwd=place)
    run("mypy --strict, the SDK", "mypy", "--cache-dir", os.path.join(place, "mypy"), "src", cwd=sdk)


def reference(python, clean):
    got = os.path.join(clean, "reference.md")
    run("reference", python, os.path.join(sdk, "reference.py"), got)
    check("docs/README.md is that of the source", filecmp.cmp(got, os.path.join(sdk, "docs/README.md"), shallow=False), "run make golden, or sdk/python/reference.py")


def main():
    tool = builder()
    missing = "" if tool else "python3-build python3-pip python3-setuptools python3-wheel "
    missing += "" if shutil.which("mypy") else "mypy"
    if missing and not os.environ.get("CI"):
        print(f"the tests of the Python SDK are skipped; on Debian: apt-get install {missing}")
        return
    check("what builds, installs and checks packages", not missing, f"Debian: apt-get install {missing}")
    check(f"the server {server}", os.access(server, os.X_OK), "run make build")
    versions = pythons()
    if failed:
        return
    with tempfile.TemporaryDirectory(prefix="namewharf-sdk-") as clean:
        places = build(tool, clean)
        if failed:
            return
        wheel, sdist = places

        def tests(python):
            version = answers(python, "import sys; print('%d.%d.%d' % sys.version_info[:3])")
            environment = {"SERVER": server, "PYTHONPATH": wheel[1], "PYTHONDONTWRITEBYTECODE": "1"}
            modules = ["test_client", "test_faults", "test_parsers", "test_partner", "test_signin"]
            if python in (versions[0], versions[-1]):
                modules.append("test_readme")  # which starts many programs
            out = run(f"Python {version}", python, "-W", "error::DeprecationWarning:namewharf", "-m", "unittest", *modules, cwd=here, limit=LIMIT, **environment)
            ran = re.search(r"^Ran (\d+) tests", out, re.M)
            check(f"Python {version}: {ran[1] if ran else 0} tests, none skipped", bool(ran) and int(ran[1]) > 60 and "skipped" not in out, out[-500:])

        with ThreadPoolExecutor(8) as pool:
            jobs = [pool.submit(tests, python) for python in versions]
            jobs += [pool.submit(types, wheel[0]), pool.submit(reference, versions[0], clean), pool.submit(run, "a new user's script with the sdist", os.path.join(sdist[0], "bin/python"), os.path.join(here, "ten_lines.py"), SERVER=server)]
            for job in jobs:
                job.result()


main()
sys.exit(1 if failed else 0)
