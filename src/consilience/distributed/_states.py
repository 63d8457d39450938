"""Blocks with a state that changes from pass to pass, such as the weights of boosting.

Updates are written to a log, and a block applies those that it has not yet seen when the next
pass reads it. So an update costs no pass of its own, and a block that is lost is made again by its
whole log. On workers a block is an actor: a pass is one message to each, without the scheduler's
work for tasks, and over a connection of its own where there can be one (``_channel``).
"""

from __future__ import annotations

import pickle
import threading
from asyncio import get_running_loop
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any, Protocol
from weakref import WeakSet

from consilience._warnings import warn_user
from consilience.distributed._channel import Address, Channel, open_port
from consilience.distributed._connection import check_connected, naming_lost_scheduler
from consilience.distributed._drivers import Arrays, add_up, gather_in_turn

__all__ = ["BlockState", "BlockStates", "FileStates", "WorkerStates"]

POLL_SECONDS = 10.0
# clients that tried in vain to connect to a worker: further fits do not wait for it again
UNREACHABLE: WeakSet[Any] = WeakSet()


@dataclass(eq=False)
class BlockState:
    """A block during a fit: its rows, which never change, a state, and what can be made again."""

    rows: Any
    state: Any = None
    scratch: dict[Any, Any] = field(default_factory=dict)


class BlockStates(Protocol):
    """Blocks with a state; functions get a ``BlockState``."""

    def update(self, function: Callable[..., None], *args: Any) -> None:
        """Change the states by ``function(block, *args)``, at the latest in the next pass."""

    def sum(self, function: Callable[..., Arrays], *args: Any) -> Arrays:
        """Sum of the tuples of arrays ``function(block, *args)``."""

    def collect(self, function: Callable, *args: Any) -> list:
        """List of the results ``function(block, *args)``."""

    def gather(
        self, split: Callable, merge: Callable, run: Callable, groups: list, tasks: list[list]
    ) -> list[list]:
        """Bring parts of all blocks together, and compute on them; see ``KeptBlocks``."""


# -- files -------------------------------------------------------------------------------------


class FileStates:
    """States in temporary files beside those of the rows."""

    def __init__(self, rows: Any, states: Any) -> None:
        self.rows, self.states = rows, states
        self.pending: list[tuple[Callable, tuple]] = []

    def update(self, function: Callable[..., None], *args: Any) -> None:
        """Change the states in the next pass."""
        self.pending.append((function, args))

    def sum(self, function: Callable[..., Arrays], *args: Any) -> Arrays:
        """Sum of the tuples of arrays ``function(block, *args)``."""
        return add_up(self._results(function, args))

    def collect(self, function: Callable, *args: Any) -> list:
        """List of the results ``function(block, *args)``."""
        return list(self._results(function, args))

    def gather(
        self, split: Callable, merge: Callable, run: Callable, groups: list, tasks: list[list]
    ) -> list[list]:
        """As of ``BlockStates``: one group in memory at a time."""
        return gather_in_turn(self.collect, split, merge, run, groups, tasks)

    def _results(self, function: Callable, args: tuple) -> Iterator:
        pending, self.pending = self.pending, []
        for number in range(self.rows.n_blocks):
            block = BlockState(self.rows.folder.read(number))
            if number < self.states.n_written:
                block.state = self.states.read(number)
            for change, values in pending:
                change(block, *values)
            if pending:
                self.states.write(number, block.state)
            yield function(block, *args)


# -- workers -----------------------------------------------------------------------------------


class WorkerStates:
    """Blocks as actors on dask workers.

    Parameters
    ----------
    client : distributed.Client
        Where to compute.
    futures : list of futures
        Blocks of rows; the scheduler makes those of a lost worker again.
    """

    def __init__(self, client: Any, futures: list[Any]) -> None:
        self.client, self.futures = client, futures
        self.log: list[bytes] = []
        self.servers: list[Server | None] = [None] * len(futures)
        self.can_connect = client not in UNREACHABLE
        self.is_waiting = False  # for a worker, which the user knows

    def update(self, function: Callable[..., None], *args: Any) -> None:
        """Change the states in the next pass."""
        self.log.append(pickle.dumps((function, args), protocol=5))

    def sum(self, function: Callable[..., Arrays], *args: Any) -> Arrays:
        """Sum of the tuples of arrays ``function(block, *args)``."""
        return add_up(self.collect(function, *args))

    def collect(self, function: Callable, *args: Any) -> list:
        """List of the results ``function(block, *args)``."""
        call = pickle.dumps((function, args), protocol=5)
        results: dict[int, Any] = {}
        with naming_lost_scheduler(self.client):
            while len(results) < len(self.futures):
                open_calls = [k for k in range(len(self.futures)) if k not in results]
                self._start([k for k in open_calls if self.servers[k] is None])
                answers = [(k, self._ask(k, call)) for k in open_calls]
                for k, answer in answers:
                    result = self._wait(k, answer)
                    if result is not None:
                        results[k] = result.read()
                if len(results) < len(self.futures):
                    check_connected(self.client)
        return [results[k] for k in range(len(self.futures))]

    def gather(
        self, split: Callable, merge: Callable, run: Callable, groups: list, tasks: list[list]
    ) -> list[list]:
        """As of ``BlockStates``: a worker asks for the parts of a group, and does its tasks."""
        results: dict[int, list] = {}
        while len(results) < len(groups):
            self.collect(_nothing)  # all updates are applied, and lost blocks made again
            servers = [server for server in self.servers if server is not None]
            actors, futures = [server.actor for server in servers], {}
            with naming_lost_scheduler(self.client):
                for k in range(len(groups)):
                    if k not in results:
                        work = pickle.dumps((split, merge, run, groups[k], tasks[k]), protocol=5)
                        futures[k] = self.client.submit(
                            run_group, actors, len(self.log), work, pure=False
                        )
                answers = dict(zip(futures, self.client.gather([*futures.values()]), strict=True))
            results.update({k: answer.read() for k, answer in answers.items() if answer})
        return [results[k] for k in range(len(groups))]

    def _start(self, numbers: list[int]) -> None:
        """Actors of blocks that have none, or have lost it; a lost block is computed again."""
        for k in numbers:
            future = self.client.submit(BlockServer, self.futures[k], actor=True, pure=False)
            self.servers[k] = Server(future)
        for k in numbers:
            server = self.servers[k]
            assert server is not None
            server.actor = self._wait_for_actor(server.future)
            if self.can_connect:
                server.channel = open_channel(server.actor, self.client)
                self.can_connect = server.channel is not None

    def _wait_for_actor(self, future: Any) -> Any:
        """The actor of a future; say that there is no worker to make it if there is none."""
        while True:
            try:
                return future.result(timeout=POLL_SECONDS)
            except TimeoutError:
                if not self.client.nthreads() and not self.is_waiting:
                    self.is_waiting = True
                    warn_user("the dask cluster has no workers; fit waits until there is one")

    def _ask(self, k: int, call: bytes) -> Any:
        server = self.servers[k]
        assert server is not None
        request = server.n_applied, self.log[server.n_applied :], call
        try:
            if server.channel is not None:
                server.channel.send(request)
                return ChannelAnswer(server.channel)
            return server.actor.run(*request)
        except (OSError, RuntimeError):  # the actor is known to be lost
            return None

    def _wait(self, k: int, answer: Any) -> Answer | None:
        """The answer of an actor, None if it was lost."""
        server = self.servers[k]
        assert server is not None
        while answer is not None:
            try:
                result = answer.result(timeout=POLL_SECONDS)
            except TimeoutError:
                if server.future.status == "finished":
                    continue  # still at work
                break
            except Exception:  # its worker cannot be reached; errors of functions are answers
                break
            if result is None:
                break
            server.n_applied = len(self.log)
            return result
        self.servers[k] = None
        return None


@dataclass(eq=False)
class Server:
    """An actor as the client sees it, and how many updates it has applied."""

    future: Any
    actor: Any = None
    n_applied: int = 0
    channel: Channel | None = None


def open_channel(actor: Any, client: Any) -> Channel | None:
    """A connection to an actor; None if it cannot be had, so that messages go through dask."""
    try:
        address = actor.open_port().result(timeout=POLL_SECONDS)
    except Exception:  # its worker is lost, which the next message tells
        return None
    try:
        return None if address is None else Channel(address)
    except OSError:  # a firewall, say
        UNREACHABLE.add(client)
        return None


@dataclass(frozen=True, eq=False)
class ChannelAnswer:
    """An answer to wait for, as dask's ``ActorFuture``."""

    channel: Channel

    def result(self, timeout: float) -> Answer | None:
        """The answer, None if the actor has applied other updates."""
        return self.channel.receive(timeout)


@dataclass(frozen=True, eq=False)
class Answer:
    """The result of a function, or its error."""

    value: Any = None
    error: bytes | None = None

    def read(self) -> Any:
        """The result; raises the error."""
        if self.error is not None:
            raise pickle.loads(self.error)
        return self.value


def _nothing(block: BlockState) -> None:
    """For a pass that applies updates only."""


def run_group(actors: list[Any], n_applied: int, work: bytes) -> Answer | None:
    """Tasks on the parts of all blocks, on a worker; None if a block has been lost."""
    split, merge, run, group, tasks = pickle.loads(work)
    call = pickle.dumps((split, (group,)), protocol=5)
    try:
        calls = [actor.run(n_applied, [], call) for actor in actors]
        answers = [own.result() for own in calls]
    except Exception:  # a worker cannot be reached; errors of functions are answers
        return None
    if None in answers:
        return None
    try:
        merged = merge([answer.read() for answer in answers])
        return Answer([run(merged, task) for task in tasks])
    except Exception as error:
        return Answer(error=pickle.dumps(error))


class BlockServer:
    """A block on a worker, with a thread of its own.

    Parameters
    ----------
    rows : SizedBlock
        Rows.
    """

    def __init__(self, rows: Any) -> None:
        self.block = BlockState(rows.value)
        self.n_applied = 0
        self.thread = ThreadPoolExecutor(1, "consilience-block")
        self.lock = threading.Lock()

    def open_port(self) -> Address | None:
        """Answer calls that come over a connection of their own."""
        from distributed import get_worker

        return open_port(get_worker().address, lambda request: self._run(*request))

    async def run(self, n_applied: int, updates: list[bytes], call: bytes) -> Answer | None:
        """Apply updates and call a function; None if other updates were applied before."""
        loop = get_running_loop()
        return await loop.run_in_executor(self.thread, self._run, n_applied, updates, call)

    def _run(self, n_applied: int, updates: list[bytes], call: bytes) -> Answer | None:
        with self.lock:
            if n_applied != self.n_applied:
                return None
            try:
                for update in updates:
                    change, values = pickle.loads(update)
                    change(self.block, *values)
                    self.n_applied += 1
                function, args = pickle.loads(call)
                return Answer(function(self.block, *args))
            except Exception as error:
                return Answer(error=pickle.dumps(error))
