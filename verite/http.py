"""One HTTP client: retries, limits on size and time, and no private addresses.

URLs in data sets are other people's: one may lead to a page, to a gigabyte, to a
server that never ends its answer, or to a machine in the user's own network. The client
therefore checks the address of every connection, after each redirect too, before it
sends anything.
"""

from __future__ import annotations

import contextlib
import ipaddress
import os
import socket
import threading
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Any
from urllib.parse import urljoin, urlsplit

import requests
from requests.adapters import HTTPAdapter
from requests.exceptions import ChunkedEncodingError, ContentDecodingError
from urllib3.connection import HTTPConnection, HTTPSConnection
from urllib3.connectionpool import HTTPConnectionPool, HTTPSConnectionPool
from urllib3.exceptions import InvalidHeader, MaxRetryError
from urllib3.util import Retry

from verite.errors import DownloadError

__all__ = ["Client", "HttpError", "Limits", "Reply", "is_public"]

_RETRIED = (429, 500, 502, 503, 504)
_REDIRECTS = (301, 302, 303, 307, 308)
_CHUNK = 1 << 14  # small: compressed bytes may unpack to a thousand times as many
_NAT64 = ipaddress.ip_network("64:ff9b::/96")


@dataclass(frozen=True)
class Limits:
    """How long to wait, how often to retry, and how much to accept."""

    tries: int = 3
    """Requests per URL if the server is busy, fails, or cannot be reached."""
    backoff: float = 1.0
    """Seconds before the second retry, doubled before each further one."""
    patience: float = 120.0
    """Longest ``Retry-After`` in seconds to wait for."""
    redirects: int = 5
    """Redirects to follow."""
    silence: float = 15.0
    """Seconds without a byte after which a connection is closed."""
    seconds: float = 60.0
    """Seconds for a whole answer, however steadily it arrives."""
    bytes: int = 20_000_000
    """Size of an answer."""


@dataclass(frozen=True)
class Reply:
    """Answer to a request, of any status; ``url`` is the one after redirects."""

    status: int
    url: str
    headers: Mapping[str, str]
    content: bytes


class HttpError(DownloadError):
    """A request without a usable answer.

    ``kind`` is ``"bad link"``, ``"private address"``, ``"too many redirects"``,
    ``"too large"``, ``"timed out"``, ``"cut short"`` or ``"unreachable"``.
    """

    def __init__(self, kind: str, message: str) -> None:
        super().__init__(message)
        self.kind = kind


@dataclass(frozen=True)
class Client:
    """Sends requests, from any number of threads.

    Attributes
    ----------
    public_only
        Connect directly, and only to public addresses. False, for URLs that the user
        chose, also uses the proxy of the environment.
    allow_host
        A host that may have a private address: a local mirror, or a test's server.
    turn
        Called with the host before each request, which is sent in the context that it
        returns. For delays between requests to one host.

    >>> Client().get("http://127.0.0.1/")
    Traceback (most recent call last):
        ...
    verite.http.HttpError: 127.0.0.1 has the private address 127.0.0.1
    """

    limits: Limits = Limits()
    public_only: bool = True
    allow_host: str = ""
    turn: Callable[[str], AbstractContextManager[object]] = nullcontext

    def get(self, url: str) -> Reply:
        """Request a URL by GET, following redirects."""
        return self.request("GET", url)

    def request(self, method: str, url: str, **content: Any) -> Reply:
        """Send a request, retry it where that may help, and follow redirects.

        ``content`` is ``json`` and ``headers`` as in :func:`requests.request`.

        Raises
        ------
        HttpError
            There is no answer within the limits.
        """
        for _ in range(self.limits.redirects + 1):
            reply = self._send(method, url, content)
            location = reply.headers.get("Location")
            if reply.status not in _REDIRECTS or not location:
                return reply
            url = urljoin(url, location)
        raise HttpError("too many redirects", f"over {self.limits.redirects}")

    def _send(self, method: str, url: str, content: Mapping[str, Any]) -> Reply:
        deadline = _Deadline(self.limits.seconds)
        over = HttpError("timed out", f"incomplete after {self.limits.seconds:g} s")
        try:
            with self.turn(urlsplit(url).netloc), _session(self, deadline) as session:
                options: dict[str, Any] = {
                    "timeout": self.limits.silence,
                    "stream": True,
                    "allow_redirects": False,
                }
                with session.request(method, url, **content, **options) as response:
                    body = b""
                    if response.status_code not in _REDIRECTS:
                        body = _read(response, self.limits.bytes)
            if deadline.over:  # a body of unknown length then ends without an error
                raise over
        except _PrivateAddressError as error:
            raise HttpError("private address", str(error)) from None
        except (ChunkedEncodingError, ContentDecodingError) as error:
            if deadline.over:
                raise over from error
            raise HttpError("cut short", _reason(error)) from error
        except ValueError as error:  # requests' errors of URLs, and UnicodeError
            raise HttpError("bad link", f"no URL to fetch: {url[:80]}") from error
        except requests.RequestException as error:
            if deadline.over:
                raise over from error
            silent = "timed out" in str(error)
            raise HttpError(
                "timed out" if silent else "unreachable", _reason(error)
            ) from error
        finally:
            deadline.cancel()
        return Reply(response.status_code, url, response.headers, body)


def is_public(address: str) -> bool:
    """Whether an IP address, or one embedded in it, is on the public internet.

    >>> is_public("93.184.215.14"), is_public("127.0.0.1"), is_public("::ffff:10.0.0.1")
    (True, False, False)
    """
    ip = ipaddress.ip_address(address)
    if isinstance(ip, ipaddress.IPv6Address):
        inner = ip.ipv4_mapped or ip.sixtofour or (ip.teredo[1] if ip.teredo else None)
        if ip in _NAT64:
            inner = ipaddress.IPv4Address(int(ip) & 0xFFFFFFFF)
        if inner is not None:
            return is_public(str(inner))
    return ip.is_global and not ip.is_multicast


class _PrivateAddressError(Exception):
    """Not an OSError, which urllib3 would retry."""


class _Deadline:
    """Shuts a connection down when its time is over.

    A socket's timeout is not enough: a server may send one byte every few seconds.
    """

    def __init__(self, seconds: float) -> None:
        self.over = False
        self._seconds = seconds
        self._timer = threading.Timer(0, lambda: None)

    def start(self, sock: socket.socket) -> None:
        """Begin anew, for the connection of this try."""
        self.cancel()
        self.over = False
        self._timer = threading.Timer(self._seconds, self._end, [sock])
        self._timer.daemon = True
        self._timer.start()

    def cancel(self) -> None:
        self._timer.cancel()

    def _end(self, sock: socket.socket) -> None:
        self.over = True
        with contextlib.suppress(OSError):
            # SSLSocket's own shutdown() would take its state from under the reader.
            socket.socket.shutdown(sock, socket.SHUT_RDWR)


class _Retry(Retry):
    patience = 0.0

    def get_retry_after(self, response: Any) -> float | None:
        try:
            return super().get_retry_after(response)
        except InvalidHeader:
            return None

    def increment(self, *args: Any, **options: Any) -> Any:
        response = options.get("response")
        if response and (self.get_retry_after(response) or 0) > self.patience:
            raise MaxRetryError(options["_pool"], "")  # urllib3 returns the response
        return super().increment(*args, **options)


def _session(client: Client, deadline: _Deadline) -> requests.Session:
    """A session whose connections are checked, and end at the deadline."""

    def check(host: str, address: str) -> None:
        allowed = not client.public_only or host == client.allow_host
        if not allowed and not is_public(address):
            raise _PrivateAddressError(f"{host} has the private address {address}")

    def watched(pool: Any, connection: Any) -> Any:
        class Connection(connection):  # type: ignore[misc]
            def _new_conn(self) -> socket.socket:
                host = self._dns_host.strip("[]")
                for entry in socket.getaddrinfo(host, self.port):
                    check(host, str(entry[4][0]))
                sock: socket.socket = super()._new_conn()
                try:  # this time, the name may have resolved to another address
                    check(host, str(sock.getpeername()[0]))
                except _PrivateAddressError:
                    sock.close()
                    raise
                return sock

            def connect(self) -> None:
                super().connect()
                deadline.start(self.sock)

        return type(pool.__name__, (pool,), {"ConnectionCls": Connection})

    # urllib3 copies the object, so the limit belongs to the class.
    retry = type("Retry", (_Retry,), {"patience": client.limits.patience})(
        client.limits.tries - 1,
        status_forcelist=_RETRIED,
        allowed_methods=None,
        backoff_factor=client.limits.backoff,
        raise_on_status=False,
    )
    adapter = HTTPAdapter(max_retries=retry)
    adapter.poolmanager.pool_classes_by_scheme = {
        "http": watched(HTTPConnectionPool, HTTPConnection),
        "https": watched(HTTPSConnectionPool, HTTPSConnection),
    }
    session = requests.Session()
    session.trust_env = not client.public_only
    if client.public_only:
        session.verify = os.environ.get("REQUESTS_CA_BUNDLE") or True
    session.auth = lambda request: request  # no passwords from ~/.netrc
    session.headers["User-Agent"] = "verite (research; arXiv 2304.14133)"
    session.headers["Accept-Encoding"] = "identity"
    session.headers["Connection"] = "close"
    session.mount("http://", adapter)
    session.mount("https://", adapter)
    return session


def _read(response: requests.Response, limit: int) -> bytes:
    body = bytearray()
    for chunk in response.iter_content(_CHUNK):
        body += chunk
        if len(body) > limit:
            raise HttpError("too large", f"over {limit:,} bytes")
    return bytes(body)


def _reason(error: Exception) -> str:
    """The innermost of requests' and urllib3's errors, on one line."""
    cause = error.args[0] if error.args else error
    cause = getattr(cause, "reason", None) or cause
    return " ".join(str(cause).split())[-200:]
