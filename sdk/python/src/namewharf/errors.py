"""The errors of the SDK: NamewharfError, and the kinds of it."""

from __future__ import annotations

import builtins
from typing import TYPE_CHECKING, Any, List, Optional

if TYPE_CHECKING:
    from .types import Detail


class NamewharfError(Exception):
    """The one kind of error that the SDK raises. Neither the message nor any field contains a token or a secret."""

    #: The code of the server, such as `rate_limited`, or one of the SDK: `connection_error`, `timeout`, `invalid_response`,
    #: `response_too_large`, `redirect_refused`, `signed_out`, `sign_in_failed`, `invalid_webhook`, `unsupported`. Input that
    #: is refused before a request goes out has `validation_error`, as the server says it too.
    code: str
    message: str
    #: The HTTP status; None when there was no answer.
    status: Optional[int]
    #: The id to quote when asking the operator of the service about a failure.
    request_id: Optional[str]
    #: The fields at fault.
    details: Optional[List[Detail]]
    #: Seconds after which the server wants to be asked again.
    retry_after: Optional[float]
    #: What to do about it, where there is more to say than the message does.
    hint: Optional[str]

    def __init__(
        self,
        code: str,
        message: str,
        *,
        status: Optional[int] = None,
        request_id: Optional[str] = None,
        details: Optional[List[Detail]] = None,
        retry_after: Optional[float] = None,
        hint: Optional[str] = None,
    ) -> None:
        Exception.__init__(self, code, message)
        self.code = code
        self.message = message
        self.status = status
        self.request_id = request_id
        self.details = details
        self.retry_after = retry_after
        self.hint = hint

    def __str__(self) -> str:
        return self.message

    def __repr__(self) -> str:
        known = [("code", self.code), ("message", self.message), ("status", self.status), ("request_id", self.request_id)]
        return f"{type(self).__name__}({', '.join(f'{name}={value!r}' for name, value in known if value is not None)})"

    def __reduce__(self) -> Any:
        return _rebuild, (type(self), self.code, self.message), self.__dict__


def _rebuild(kind: Any, code: str, message: str) -> NamewharfError:
    error: NamewharfError = kind.__new__(kind)
    NamewharfError.__init__(error, code, message)
    return error


class ConnectionError(NamewharfError, builtins.ConnectionError):
    """The server could not be reached, or the connection ended before the whole answer was there."""

    def __init__(self, message: str) -> None:
        NamewharfError.__init__(self, "connection_error", message)

    __str__ = NamewharfError.__str__


class TimeoutError(NamewharfError, builtins.TimeoutError):
    """An attempt took longer than its `timeout`."""

    def __init__(self, message: str) -> None:
        NamewharfError.__init__(self, "timeout", message)

    __str__ = NamewharfError.__str__


def refuse(field: str, reason: str) -> NamewharfError:
    """The error of input that is refused before a request goes out."""
    return NamewharfError("validation_error", f"{field} {reason}", details=[{"field": field, "reason": reason}])
