"""Maps on threads; that they stop is tested with the signals."""

import threading

from consilience._core.threads import map_in_threads


def test_one_thread_is_the_caller_and_more_are_others():
    for n_threads in (1, 2, 3):
        with map_in_threads(n_threads) as map_items:
            names = list(map_items(lambda _: threading.get_ident(), range(6)))
        assert (threading.get_ident() in names) == (n_threads == 1)
