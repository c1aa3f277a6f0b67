"""Writes RESULTS.md and its charts from what was measured."""

import datetime
import os
import pathlib
import platform
import subprocess
import sys

from charts import FLOOR, OURS, PEER, bars, panels, rounded
from figures import Figures
from goals import not_reached

FOLDER = pathlib.Path(__file__).parent.parent
LISTENERS = (0, 1, 16, 1_024)
# Case, label, colour of its bar.
POSTING = (
    ("strong-loop", "loop over closures", FLOOR),
    ("weak-loop", "loop over weak closures", FLOOR),
    ("by-hand", "Mutex and a copied array, weak", FLOOR),
    ("channel-token", "Channel, token-owned", OURS),
    ("channel-weak", "Channel, weak owners", OURS),
    ("channel-posts", "Channel.posts, weak owners", OURS),
    ("filter-by-hand", "Channel, token-owned, skipped by the listener", OURS),
    ("filter-skips", "Channel.filter, token-owned, skipped", OURS),
    ("filter-passes", "Channel.filter, token-owned", OURS),
    ("map", "Channel.map, token-owned", OURS),
    ("local-token", "LocalChannel, token-owned", OURS),
    ("local-weak", "LocalChannel, weak owners", OURS),
    ("main-actor", "Channel, main-actor owners", OURS),
    ("state-set", "StateChannel.set", OURS),
    ("protocol-notify", "ProtocolChannel.notify", OURS),
    ("named-post", "by name, of 100,000", OURS),
    ("pattern-listeners", "by name, listeners by pattern", OURS),
    ("pattern-weak", "by name, listeners by pattern, weak owners", OURS),
    ("pattern-only", "by name, matched by patterns only", OURS),
    ("other-patterns", "by name, 1,000 other patterns", OURS),
    ("open-combine", "OpenCombine PassthroughSubject", PEER),
    ("notification-typed", "NotificationCenter, typed", PEER),
    ("notification-user-info", "NotificationCenter, userInfo", PEER),
    ("mailbox-actor", "Channel, owners that are actors", OURS),
    ("mailbox-main", "Channel, main-actor owners, from another thread", OURS),
    ("mailbox-queue", "Channel, each on a queue", OURS),
    ("mailbox-sequence", "Channel, messages()", OURS),
    ("dispatch-async", "DispatchQueue.async", PEER),
    ("async-stream", "AsyncStream", PEER),
    ("async-channel", "AsyncChannel", PEER),
    ("share", "share() of an AsyncStream", PEER),
)


def table(head, rows):
    """A table in Markdown; None becomes an empty cell."""
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    for row in rows:
        cells = (cell if isinstance(cell, str) else "" if cell is None else rounded(cell) for cell in row)
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"


def output(*command):
    return subprocess.run(command, capture_output=True, text=True, check=False).stdout.strip()


def processor():
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as file:
            return next(line.partition(":")[2].strip() for line in file if line.startswith("model name"))
    except (OSError, StopIteration):
        return platform.processor() or platform.machine()


def spread(figures, name):
    """Median, first and third quartile of a figure."""
    return [figures(name, key) for key in ("median", "p25", "p75")]


def main(files):
    figures = Figures(files)
    swift = output("swift", "--version").splitlines()[0]
    commit = output("git", "-C", str(FOLDER), "rev-parse", "--short", "HEAD")
    parts = [
        "# Results of the last run",
        "",
        f"{processor()}, {os.cpu_count()} cores, {platform.system()}, {swift}. "
        f"{datetime.datetime.now(datetime.timezone.utc):%Y-%m-%d}, commit {commit}. Written by `Scripts/bench`.",
        "",
        "Each figure is the median of many rounds, over which the cases are interleaved. The machine was shared: ratios within the run mean more "
        "than absolute times. Instructions (callgrind) and allocations (`malloc`) do not depend on that.",
        "",
        "## A post, by number of listeners",
        "",
        "Nanoseconds per post. From the row \"Channel, owners that are actors\" on, the time runs until every listener has received the "
        "message, per message of a burst of 10,000. The last columns are "
        "instructions per additional listener, and allocations per post to 16 listeners.",
        "",
        "![Time of one post to 16 listeners](chart.svg)",
        "",
        table(
            ["", *(f"{count:,}" for count in LISTENERS), "instructions", "allocations"],
            [
                [label, *(figures(f"ns/{case}/{count}") for count in LISTENERS), figures(f"per-listener/{case}"), figures(f"allocations/{case}/16")]
                for case, label, _ in POSTING
            ],
        ),
        "## Looking up a name among 100,000 channels",
        "",
        table(
            ["", "ns", "instructions"],
            [
                [label, figures(f"ns/{case}/1"), figures(f"instructions/{case}/1")]
                for case, label in (
                    ("named-lookup", "`board.channel(name)`, the same name again and again"),
                    ("run-time-lookup", "`board.channel(\"text\", of:)`, the same"),
                    ("named-post", "`board.post(_:to:)` with one listener, the same"),
                    ("named-post-apart", "the same, 1,024 names in turn"),
                )
            ],
        ),
        "## Registering and cancelling one listener, by number of listeners already registered",
        "",
        "Measured in a single-threaded process, and in the shared process where many threads have posted:",
        "",
        table(
            ["ns", "0", "10,000", "100,000", "instructions at 10,000", "allocations"],
            [
                [f"{label}, {where}", *(figures(f"{kind}/{case}/{count}") for count in (0, 10_000, 100_000)),
                 figures(f"instructions/{case}/10000"), figures(f"allocations/{case}/10000")]
                for kind, where in (("alone", "one thread"), ("ns", "many threads"))
                for case, label in (("register-token", "token-owned"), ("register-weak", "weak owner"), ("register-priorities", "five priorities"))
            ],
        ),
        table(
            ["bytes", ""],
            [
                ["a token-owned listener, its token and its closure", figures("bytes/token")],
                ["a listener of a weak owner, with what the runtime adds to the owner", figures("bytes/weak")],
                ["a channel", figures("bytes/channel")],
            ],
        ),
        "## Several threads",
        "",
        "`1.00` is the throughput of one thread. Rounds in which a thread was preempted are repeated.",
        "",
        table(
            ["", "median", "25 %", "75 %"],
            [
                [label, *spread(figures, f"ns/threads/{name}")]
                for name, label in (
                    ("scaling/x-one-channel", "throughput of two threads on one channel, relative to one thread"),
                    ("by-name/x-one-name", "throughput of two threads by one name, relative to one thread"),
                    ("scaling/x-two-channels", "throughput of two threads on two channels, relative to one thread"),
                    ("sixteen/p50", "one post of sixteen threads to 16 listeners, ns: p50"),
                    ("sixteen/p99.9", "p99.9"),
                    ("sixteen/max", "longest of a round"),
                    ("sixteen-on-mailbox/p50", "one post of sixteen threads to one mailbox, ns: p50"),
                    ("sixteen-on-mailbox/p99.9", "p99.9"),
                    ("sixteen-on-mailbox/max", "longest of a round"),
                    ("churn/post-alone", "a post to 16 listeners, ns"),
                    ("churn/post-with-churn", "the same while another thread registers and cancels"),
                    ("churn/registration-beside", "one registering and cancelling beside it"),
                )
            ],
        ),
        "## How the cost grows",
        "",
        "![Time of a post by listeners, threads and channels](growth.svg)",
        "",
    ]
    growth = []
    for case, title, unit in (
        ("growth-listeners", "ns of a post, by listeners", "listeners"),
        ("growth-threads", "ns of a post, all threads together", "threads"),
        ("growth-channels", "ns of a post by name", "named channels; 1,024 names in turn"),
    ):
        points = sorted((int(name.rpartition("/")[2]), figures(name)) for name in figures.all if name.startswith(f"ns/{case}/"))
        growth.append((title, unit, points))
        rows = [["ns", *(value for _, value in points)]]
        parts.append(table([unit, *(f"{count:,}" for count, _ in points)], rows))
    parts += ["## Not reached", "", not_reached(figures)]
    (FOLDER / "RESULTS.md").write_text("\n".join(parts).rstrip("\n") + "\n", encoding="utf-8")
    chart = [(label, figures(f"ns/{case}/16"), colour) for case, label, colour in POSTING if figures(f"ns/{case}/16")]
    (FOLDER / "chart.svg").write_text(bars("One post to 16 listeners (logarithmic scale)", chart), encoding="utf-8")
    (FOLDER / "growth.svg").write_text(panels(growth), encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
