"""Compares what was measured with the limits of thresholds.txt, and fails naming what is worse."""

import operator
import pathlib
import re
import sys

from figures import Figures, needed

FILE = pathlib.Path(__file__).parent.parent / "thresholds.txt"
COMPARISONS = {"<=": operator.le, ">=": operator.ge, "==": operator.eq}
# Figures that do not depend on what else the machine does.
DETERMINISTIC = ("instructions/", "per-listener/", "allocations/", "bytes/")


def thresholds(deterministic):
    """The lines of the file: name, comparison, limit."""
    lines = []
    for number, line in enumerate(FILE.read_text(encoding="utf-8").splitlines(), 1):
        text = line.partition("#")[0].strip()
        if not text:
            continue
        match = re.fullmatch(r"(\S+)\s+(<=|>=|==)\s+([0-9.]+)(\s+timed)?", text)
        if not match:
            sys.exit(f"error: {FILE.name}, line {number}: expected NAME COMPARISON LIMIT, found: {text}")
        name, comparison, limit, timed = match.groups()
        if not deterministic or (name.startswith(DETERMINISTIC) and not timed):
            lines.append((name, comparison, limit))
    return lines


def main(arguments):
    if arguments[:1] == ["--needed"]:
        kinds = ("allocations/", "bytes/") if arguments[1] == "allocations" else (arguments[1] + "/",)
        names = {name for line in thresholds(True) for name in needed(line[0]) if name.startswith(kinds)}
        for name in sorted(names):
            # `=` asks for exactly this case; bytes are asked for by the name of the figure.
            print(("=" if arguments[1] == "allocations" else "") + (name if name.startswith("bytes/") else name.partition("/")[2]))
        return 0
    deterministic = arguments[:1] == ["--deterministic"]
    figures = Figures(arguments[1:] if deterministic else arguments)
    lines = thresholds(deterministic)
    worse = 0
    for name, comparison, limit in lines:
        value = figures(name)
        if value is None:
            print(f"worse: {name} was not measured; its limit is {comparison} {limit}")
            worse += 1
        elif not COMPARISONS[comparison](value, float(limit)):
            print(f"worse: {name} is {value:.4g}; its limit is {comparison} {limit}")
            worse += 1
    if not lines:
        print("error: no limits were found")
        return 1
    print(f"{len(lines) - worse} of {len(lines)} limits are kept.")
    return 1 if worse else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
