"""Direct connections to blocks on workers.

A pass over blocks of moderate size takes a few milliseconds, as long as dask needs for a message
and its answer. So the client sends calls to a thread of the worker over a socket of their own. A
message is a pickled value: the number of its parts and their lengths, the pickle, and its arrays.

The port is open to whoever has the token, which the client gets through dask. Like dask's own
connections without TLS, these are not encrypted, and where dask has TLS, or no sockets, there are
none.
"""

from __future__ import annotations

import hmac
import pickle
import secrets
import socket
import threading
from collections.abc import Callable
from time import monotonic
from typing import Any, NamedTuple
from urllib.parse import urlsplit

import numpy as np

__all__ = ["Address", "Channel", "open_port"]

CONNECT_SECONDS = 5.0
TOKEN_BYTES = 32
NUMBER = np.dtype("<u8")


class Address(NamedTuple):
    """Where a block listens, and what proves that the caller may connect."""

    host: str
    port: int
    token: bytes


class Channel:
    """The client's end of a connection."""

    def __init__(self, address: Address) -> None:
        self._socket = socket.create_connection(address[:2], timeout=CONNECT_SECONDS)
        set_options(self._socket)
        self._socket.sendall(address.token)
        self._message = Message()

    def send(self, value: Any) -> None:
        """Send a message."""
        self._socket.settimeout(None)
        send_message(self._socket, value)

    def receive(self, timeout: float) -> Any:
        """The answer; after a TimeoutError, the next call goes on with what has arrived."""
        self._socket.settimeout(timeout)
        value = self._message.read(self._socket)
        self._message = Message()
        return value

    def close(self) -> None:
        """Close the connection, which ends the thread of the worker."""
        self._socket.close()

    def __del__(self) -> None:
        if hasattr(self, "_socket"):
            self._socket.close()


def open_port(worker_address: str, answer: Callable[[Any], Any]) -> Address | None:
    """Answer the messages of one connection in a thread; None where there is no plain TCP."""
    url = urlsplit(worker_address)
    if url.scheme != "tcp" or url.hostname is None:
        return None
    family = socket.AF_INET6 if ":" in url.hostname else socket.AF_INET
    port = socket.create_server((url.hostname, 0), family=family)
    token = secrets.token_bytes(TOKEN_BYTES)
    threading.Thread(
        target=_serve, args=(port, token, answer), name="consilience-port", daemon=True
    ).start()
    return Address(url.hostname, port.getsockname()[1], token)


def _serve(port: socket.socket, token: bytes, answer: Callable[[Any], Any]) -> None:
    try:
        with port:
            connection = _accept(port, token)
        with connection:
            while True:
                send_message(connection, answer(Message().read(connection)))
    except OSError:  # the client is gone, or never came
        pass


def _accept(port: socket.socket, token: bytes) -> socket.socket:
    """The first connection with the token; strangers do not prolong the time for it."""
    end = monotonic() + CONNECT_SECONDS
    while True:
        port.settimeout(_seconds_until(end))
        connection, _ = port.accept()
        connection.settimeout(_seconds_until(end))
        try:
            part = Part(TOKEN_BYTES)
            part.read(connection)
            if hmac.compare_digest(part.data.tobytes(), token):
                set_options(connection)
                connection.settimeout(None)
                return connection
        except OSError:  # a stranger
            pass
        connection.close()


def _seconds_until(end: float) -> float:
    return max(end - monotonic(), 1e-3)  # 0 would mean not to wait for what is there


def set_options(connection: socket.socket) -> None:
    """Send messages at once, and notice if the other machine is gone without a word."""
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)


def send_message(connection: socket.socket, value: Any) -> None:
    """Send a value, its arrays without a copy."""
    buffers: list[pickle.PickleBuffer] = []
    head = pickle.dumps(value, protocol=5, buffer_callback=buffers.append)
    parts = [memoryview(head), *(buffer.raw() for buffer in buffers)]
    lengths = np.array([len(parts), *(len(part) for part in parts)], dtype=NUMBER)
    connection.sendall(lengths.tobytes())
    for part in parts:
        connection.sendall(part)


class Message:
    """A message that arrives little by little."""

    def __init__(self) -> None:
        self._parts = [Part(NUMBER.itemsize)]

    def read(self, connection: socket.socket) -> Any:
        """Its value; after a TimeoutError, the next call goes on."""
        k = 0
        while k < len(self._parts):
            self._parts[k].read(connection)
            if k == 0 and len(self._parts) == 1:
                self._parts.append(Part(NUMBER.itemsize * self._numbers(0)[0]))
            elif k == 1 and len(self._parts) == 2:
                self._parts += [Part(n_bytes) for n_bytes in self._numbers(1)]
            k += 1
        _, _, head, *arrays = (part.data for part in self._parts)
        return pickle.loads(head, buffers=arrays)

    def _numbers(self, k: int) -> list[int]:
        return self._parts[k].data.view(NUMBER).tolist()


class Part:
    """Bytes of a known number."""

    def __init__(self, n_bytes: int) -> None:
        self.data: Any = np.empty(n_bytes, dtype=np.uint8)
        self._n_read = 0

    def read(self, connection: socket.socket) -> None:
        """Read those that are missing."""
        view = memoryview(self.data)
        while self._n_read < len(view):
            n_bytes = connection.recv_into(view[self._n_read :])
            if n_bytes == 0:
                raise ConnectionResetError("the connection was closed")
            self._n_read += n_bytes
