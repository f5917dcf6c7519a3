"""Where a sign-in is stored between runs of a program."""

from __future__ import annotations

import os
import re
import sys
import time
from typing import Any, Callable, Optional, Protocol


class TokenStore(Protocol):
    """Stores a sign-in between runs of a program. The value is an opaque text with secrets: let no other user read it.

    With AsyncNamewharf the methods may be coroutines. A store may also have `try_lock()`, which locks the sign-in while it is
    refreshed, so that no other process refreshes it: it returns a function that unlocks it, or None while another has the lock.
    """

    def load(self) -> Any:
        """The value saved last; None if there is none, and after `clear`."""

    def save(self, value: str) -> Any:
        """Stores a value in place of the one before."""

    def clear(self) -> Any:
        """Forgets the value."""


class FileStore:
    """A store in a file of mode 0600, which processes may share. `sign_in` uses one by default."""

    def __init__(self, path: str) -> None:
        self._path = os.fspath(path)

    def __repr__(self) -> str:
        return f"FileStore({self._path!r})"

    def load(self) -> Optional[str]:
        """The text of the file; None if there is none."""
        try:
            with open(self._path, encoding="utf-8") as file:
                return file.read()
        except FileNotFoundError:
            return None

    def save(self, value: str) -> None:
        """Replaces the file: a reader sees the whole of one or the other."""
        self._make_directory()
        following = f"{self._path}.{os.getpid()}.new"
        descriptor = os.open(following, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        try:
            with open(descriptor, "w", encoding="utf-8") as file:
                if hasattr(os, "fchmod"):
                    os.fchmod(descriptor, 0o600)
                file.write(value)
                file.flush()
                os.fsync(descriptor)
            os.replace(following, self._path)
        except BaseException:
            _remove(following)
            raise

    def clear(self) -> None:
        """Removes the file."""
        try:
            os.remove(self._path)
        except FileNotFoundError:
            pass

    def try_lock(self) -> Optional[Callable[[], None]]:
        """Takes a lock file, which names its process: that of a process that ended is taken over."""
        self._make_directory()
        path = f"{self._path}.lock"
        try:
            descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        except FileExistsError:
            if _abandoned(path):
                _remove(path)
            return None
        with open(descriptor, "w", encoding="ascii") as file:
            file.write(str(os.getpid()))
        return lambda: _remove(path)

    def _make_directory(self) -> None:
        directory = os.path.dirname(self._path)
        if directory:
            os.makedirs(directory, mode=0o700, exist_ok=True)


def _remove(path: str) -> None:
    try:
        os.remove(path)
    except FileNotFoundError:
        pass


def _abandoned(path: str) -> bool:
    try:
        with open(path, encoding="ascii") as file:
            owner = file.read()
        if not owner.isdigit():
            return False
        if sys.platform == "win32":  # os.kill would end the process
            return time.time() - os.stat(path).st_mtime > 60
        os.kill(int(owner), 0)
    except ProcessLookupError:
        return True
    except (OSError, ValueError, OverflowError):
        pass
    return False


def default_path(origin: str) -> str:
    """The file that stores the sign-in at a service."""
    home = os.path.expanduser("~")
    configured = os.environ.get("XDG_CONFIG_HOME", "")
    if configured.startswith("/"):
        base = configured
    elif sys.platform == "win32":
        base = os.environ.get("APPDATA") or os.path.join(home, "AppData", "Roaming")
    elif sys.platform == "darwin":
        base = os.path.join(home, "Library", "Application Support")
    else:
        base = os.path.join(home, ".config")
    name = re.sub(r"[^\w.-]", "_", re.sub(r"^https?://", "", origin), flags=re.A)
    return os.path.join(base, "namewharf", "sdk", f"{name}.json")
