"""Reads what the benchmarks measured, and derives ratios and differences from it."""

import json
import sys

# Whose instructions are counted for the tables, and with how many listeners.
COUNTED = {
    "strong-loop": (0, 1, 16, 32),
    "weak-loop": (0, 1, 16, 32),
    "by-hand": (0, 1, 16, 32),
    "notification-user-info": (0, 1, 16, 32),
    "notification-typed": (0, 1, 16, 32),
    "open-combine": (0, 1, 16, 32),
    "channel-token": (0, 1, 16, 32),
    "channel-weak": (0, 1, 16, 32),
    "channel-posts": (0, 1, 16, 32),
    "filter-by-hand": (0, 1, 16, 32),
    "filter-skips": (0, 1, 16, 32),
    "filter-passes": (0, 1, 16, 32),
    "map": (0, 1, 16, 32),
    "local-token": (0, 1, 16, 32),
    "local-weak": (0, 1, 16, 32),
    "main-actor": (0, 1, 16, 32),
    "state-set": (0, 1, 16, 32),
    "protocol-notify": (0, 1, 16, 32),
    "named-post": (1,),
    "named-lookup": (1,),
    "pattern-listeners": (0, 1, 16),
    "pattern-weak": (0, 1, 16),
    "pattern-only": (1, 16),
    "other-patterns": (0, 1, 16),
    "register-token": (0, 100, 10_000),
    "register-weak": (0, 100, 10_000),
    "register-priorities": (0, 100, 10_000),
}


class Figures:
    """Figures by name. `figures(name)` also knows derived ones, and gives None for what was not measured.

    - `per-listener/CASE`: instructions of one listener more, from 16 and 32 listeners
    - `ratio/A:B`: the median time of A in terms of B's
    - `over/A:B`: the median time of A less B's, in nanoseconds
    - `per-message/CASE`: the median time of one message to one of the listeners
    """

    def __init__(self, files):
        self.all = {}
        for file in files:
            with open(file, encoding="utf-8") as text:
                for figure in json.load(text):
                    self.all[figure["name"]] = figure

    def __call__(self, name, key="median"):
        kind, _, rest = name.partition("/")
        if kind == "per-listener":
            few, many = self(f"instructions/{rest}/16"), self(f"instructions/{rest}/32")
            return None if few is None or many is None else (many - few) / 16
        if kind == "ratio":
            left, right = (self(f"ns/{side}") for side in rest.split(":"))
            return None if left is None or right is None else left / right
        if kind == "over":
            left, right = (self(f"ns/{side}") for side in rest.split(":"))
            return None if left is None or right is None else left - right
        if kind == "per-message":
            time = self(f"ns/{rest}", key)
            return None if time is None else time / int(rest.rpartition("/")[2])
        figure = self.all.get(name)
        return None if figure is None else figure.get(key)


def needed(name):
    """The figures of the measuring run that a figure is derived from."""
    kind, _, rest = name.partition("/")
    if kind == "per-listener":
        return [f"instructions/{rest}/16", f"instructions/{rest}/32"]
    return [name]


if __name__ == "__main__":
    # Of the case names read, those whose instructions are counted.
    listed = set(sys.stdin.read().split())
    for case, listeners in COUNTED.items():
        for count in listeners:
            if f"{case}/{count}" not in listed:
                sys.exit(f"error: there is no case {case}/{count}")
            print(f"{case}/{count}")
