"""The SDK of Namewharf, a marketplace for domain names.

`Namewharf` and `AsyncNamewharf` look up domains, prices and offers; `Partner` and `AsyncPartner` sell names as a partner. Answers
are plain dictionaries; `namewharf.types` has their types.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ._version import __version__
from .errors import ConnectionError, NamewharfError, TimeoutError

if TYPE_CHECKING:
    from . import types as types
    from ._async_client import AsyncNamewharf
    from ._batch import Batch, Deferred
    from ._client import Namewharf
    from ._paging import AsyncPage, AsyncPages, Page, Pages
    from ._partner import AsyncPartner, Partner
    from ._signature import canonical_query, canonical_string, sign
    from ._signin import AsyncSession, Session
    from .store import FileStore, TokenStore

__all__ = [
    "AsyncNamewharf",
    "AsyncPage",
    "AsyncPages",
    "AsyncPartner",
    "AsyncSession",
    "Batch",
    "ConnectionError",
    "Deferred",
    "FileStore",
    "Namewharf",
    "NamewharfError",
    "Page",
    "Pages",
    "Partner",
    "Session",
    "TimeoutError",
    "TokenStore",
    "__version__",
    "canonical_query",
    "canonical_string",
    "sign",
]

# Modules are loaded when they are needed: a program that looks up prices loads neither asyncio nor what signs.
_modules = {
    "AsyncNamewharf": "_async_client", "Batch": "_batch", "Deferred": "_batch", "Namewharf": "_client", "AsyncPage": "_paging", "AsyncPages": "_paging",
    "Page": "_paging", "Pages": "_paging", "AsyncPartner": "_partner", "Partner": "_partner", "canonical_query": "_signature",
    "canonical_string": "_signature", "sign": "_signature", "AsyncSession": "_signin", "Session": "_signin", "FileStore": "store", "TokenStore": "store",
}  # fmt: skip


def __getattr__(name: str) -> Any:
    from importlib import import_module

    if name == "types":
        return import_module(".types", __name__)
    if name not in _modules:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f".{_modules[name]}", __name__), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__, "types"})
