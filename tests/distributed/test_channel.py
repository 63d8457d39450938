"""Direct connections to blocks: messages, strangers, time-outs, and fits with and without them."""

import contextlib
import gc
import socket
import threading
import time
from weakref import WeakSet

import numpy as np
import pytest
from sklearn.base import clone

import distributed
from common.block_problems import LOOPBACK, MODELS, assert_same, lazy, make_problem
from consilience.distributed import _channel, _states
from consilience.distributed._channel import Channel, open_port


def wait_until(condition, seconds=10.0):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.01)


def n_threads():
    return sum(thread.name == "consilience-port" for thread in threading.enumerate())


@pytest.fixture
def echo():
    """A channel to a thread that returns what it gets."""
    channel = Channel(open_port("tcp://127.0.0.1:1", lambda value: value))
    yield channel
    channel.close()


@pytest.mark.parametrize(
    "value",
    [
        None,
        (1, [b"updates"], "text"),
        np.arange(3_000_000),
        [np.zeros((0, 3)), np.ones((2, 3), dtype=np.int32, order="F"), np.array(5.0)],
        {"strided": np.arange(20)[::3]},
    ],
    ids=["none", "plain", "long", "arrays", "strided"],
)
def test_messages_arrive_as_they_were_sent(echo, value):
    for _ in range(2):
        echo.send(value)
        answer = echo.receive(10.0)
        np.testing.assert_equal(answer, value)


def test_arrays_that_arrive_can_be_written(echo):
    echo.send(np.zeros(4))
    answer = echo.receive(10.0)
    answer += 1
    assert answer.sum() == 4


def test_a_message_goes_on_after_a_timeout():
    """The answer comes in two parts, with a time-out before, between and within them."""
    ours, theirs = socket.socketpair()
    parts = _channel.Message()
    ours.settimeout(0.01)
    sent = []

    class Recorder:
        def sendall(self, data):
            sent.append(bytes(data))

    _channel.send_message(Recorder(), np.arange(1000))
    data = b"".join(sent)
    with ours, theirs:
        for start in range(0, len(data), 97):
            with pytest.raises(TimeoutError):
                parts.read(ours)
            theirs.sendall(data[start : start + 97])
        np.testing.assert_array_equal(parts.read(ours), np.arange(1000))


def test_strangers_are_turned_away():
    address = open_port("tcp://127.0.0.1:1", lambda value: value)
    wrong = address._replace(token=bytes(len(address.token)))
    stranger = Channel(wrong)
    with pytest.raises(ConnectionResetError):
        stranger.receive(10.0)
    channel = Channel(address)
    channel.send("the same port, with the token")
    assert channel.receive(10.0) == "the same port, with the token"
    with pytest.raises(OSError):  # one connection only
        Channel(address)


def test_threads_end_with_their_client():
    gc.collect()
    wait_until(lambda: n_threads() == 0)  # of other tests
    channel = Channel(open_port("tcp://127.0.0.1:1", lambda value: value))
    assert n_threads() == 1
    del channel
    gc.collect()
    wait_until(lambda: n_threads() == 0)


def test_a_port_closes_if_nobody_comes(monkeypatch):
    monkeypatch.setattr(_channel, "CONNECT_SECONDS", 0.05)
    open_port("tcp://127.0.0.1:1", lambda value: value)
    wait_until(lambda: n_threads() == 0)


def test_strangers_do_not_keep_a_port_open(monkeypatch):
    monkeypatch.setattr(_channel, "CONNECT_SECONDS", 0.5)
    gc.collect()
    wait_until(lambda: n_threads() == 0)  # of other tests
    address = open_port("tcp://127.0.0.1:1", lambda value: value)
    wrong = address._replace(token=bytes(len(address.token)))
    start, n_strangers = time.monotonic(), 0
    while n_threads():
        assert time.monotonic() < start + 5
        with contextlib.suppress(OSError):
            Channel(wrong).close()
            n_strangers += 1
        time.sleep(0.05)
    assert n_strangers > 1


@pytest.mark.parametrize("address", ["inproc://10.0.0.1/1/2", "tls://127.0.0.1:1", "ucx://h:1"])
def test_only_plain_tcp_has_ports(address):
    assert open_port(address, None) is None


def test_addresses_of_the_sixth_version():
    if not socket.has_ipv6:
        pytest.skip("no IPv6 here")
    try:
        address = open_port("tcp://[::1]:1", lambda value: value)
    except OSError:
        pytest.skip("no IPv6 here")
    channel = Channel(address)
    channel.send(1)
    assert channel.receive(10.0) == 1


@pytest.fixture(scope="module")
def cluster():
    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, host="127.0.0.1", dashboard_address=LOOPBACK
        ) as cluster,
        distributed.Client(cluster, timeout=60) as client,
    ):
        yield client


class Refused:
    """No connection can be made, as behind a firewall."""

    tried = 0

    def __init__(self, address):
        Refused.tried += 1
        raise ConnectionRefusedError


@pytest.mark.parametrize("is_open", [True, False], ids=["connected", "behind a firewall"])
def test_fits_with_and_without_connections_are_equal(cluster, monkeypatch, is_open):
    channels = []

    class Counted(Channel):
        def __init__(self, address):
            super().__init__(address)
            channels.append(address)

    monkeypatch.setattr(_states, "Channel", Counted if is_open else Refused)
    monkeypatch.setattr(_states, "UNREACHABLE", WeakSet())
    Refused.tried = 0
    X, y, weight = make_problem(2)
    expected = clone(MODELS[0]).fit(X, y, weight)
    for _ in range(2):
        assert_same(clone(MODELS[0]).fit(lazy(X), y, weight), expected)
    assert bool(channels) == is_open
    assert Refused.tried == (0 if is_open else 1)
    counts = cluster.run(n_threads_of_worker)
    wait_until(lambda: not any(cluster.run(n_threads_of_worker).values()))
    assert set(counts) == set(cluster.nthreads())


def n_threads_of_worker():
    import threading

    return sum(thread.name == "consilience-port" for thread in threading.enumerate())
