"""Shared by the benchmark scripts: the least of several runs, and a printed ratio."""

import time


def least(function, repeat=7, clock=time.process_time):
    """Smallest time of ``repeat`` calls; the machines are shared, so the mean means little."""
    times = []
    for _ in range(repeat):
        start = clock()
        function()
        times.append(clock() - start)
    return min(times)


def report(work, ours, anchor, goal):
    """One line: our time, the anchor's, their ratio and what is to be reached."""
    print(f"{work:<58} {ours:9.4f} s  anchor {anchor:9.4f} s  ratio {anchor / ours:7.2f}x  {goal}")
