"""`import consilience` against `import sklearn.ensemble`, each in a fresh interpreter.

python benchmarks/importing.py [--quick]
"""

import resource
import subprocess
import sys


def cpu_seconds(statement):
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([sys.executable, "-c", statement], check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main():
    repeat = 2 if "--quick" in sys.argv else 9
    statements = {name: f"import {name}" for name in ("consilience", "sklearn.ensemble")}
    # interleaved, so that a slow spell of the machine hits both
    times = {name: [] for name in statements}
    for _ in range(repeat):
        for name, statement in statements.items():
            times[name].append(cpu_seconds(statement))
    ours, anchor = min(times["consilience"]), min(times["sklearn.ensemble"])
    print(
        f"import consilience {ours:.3f} s, import sklearn.ensemble {anchor:.3f} s: "
        f"{ours / anchor:.2f}x (reach at most 1.2x)"
    )


if __name__ == "__main__":
    main()
