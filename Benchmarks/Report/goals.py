"""The goals of the library, and which of them a run did not reach."""

# Label, figure, comparison, goal.
GOALS = (
    ("token-owned, 16 listeners, in terms of the loop over closures", "ratio/channel-token/16:strong-loop/16", "<=", 0.35),
    ("instructions of a further token-owned listener", "per-listener/channel-token", "<=", 29),
    ("weak owners, 16 listeners, in terms of the loop over weak closures", "ratio/channel-weak/16:weak-loop/16", "<=", 0.80),
    ("instructions of a further listener of a weak owner", "per-listener/channel-weak", "<=", 217),
    ("main-actor owners, 16, in terms of the loop over weak closures", "ratio/main-actor/16:weak-loop/16", "<=", 1),
    ("LocalChannel in terms of Channel, token-owned, 16", "ratio/local-token/16:channel-token/16", "<=", 1),
    ("LocalChannel in terms of Channel, weak owners, 16", "ratio/local-weak/16:channel-weak/16", "<=", 1),
    ("allocations of a post, token-owned", "allocations/channel-token/16", "<=", 0),
    ("allocations of a post, weak owners", "allocations/channel-weak/16", "<=", 0),
    ("throughput of two threads on one channel, relative to one thread", "ns/threads/scaling/x-one-channel", ">=", 1.9),
    ("throughput of two threads by one name, relative to one thread", "ns/threads/by-name/x-one-name", ">=", 1.5),
    ("throughput of two threads on two channels, relative to one thread", "ns/threads/scaling/x-two-channels", ">=", 1.9),
    ("p99.9 of a post of sixteen threads, ns", "ns/threads/sixteen/p99.9", "<=", 1_000),
    ("p50 of a post of sixteen threads to one mailbox, ns", "ns/threads/sixteen-on-mailbox/p50", "<=", 600),
    ("registering and cancelling, none standing, ns", "alone/register-token/0", "<=", 150),
    ("registering and cancelling, 10,000 standing, ns", "alone/register-token/10000", "<=", 150),
    ("registering and cancelling, five priorities, ns", "alone/register-priorities/10000", "<=", 150),
    ("registering and cancelling, weak owners, ns", "alone/register-weak/10000", "<=", 180),
    ("registering and cancelling in a process with many threads, ns", "ns/register-token/10000", "<=", 150),
    ("10,000 standing in terms of none", "ratio/register-token/10000:register-token/0", "<=", 1.15),
    ("10,000 standing in terms of none, five priorities", "ratio/register-priorities/10000:register-priorities/0", "<=", 1.15),
    ("10,000 standing in terms of none, weak owners", "ratio/register-weak/10000:register-weak/0", "<=", 1.15),
    ("bytes of a token-owned listener", "bytes/token", "<=", 176),
    ("bytes of a listener of a weak owner", "bytes/weak", "<=", 176),
    ("a post that only a pattern receives in terms of one with a listener of its own", "ratio/pattern-only/1:named-post/1", "<=", 2),
    ("listeners by pattern in terms of the channel's own, 16, weak owners", "ratio/pattern-weak/16:channel-weak/16", "<=", 2),
    ("looking up a typed name, ns over a held channel", "over/named-post/1:channel-token/1", "<=", 50),
    ("a message to an actor, ns", "per-message/mailbox-actor/1", "<=", 25),
    ("a message of another thread to each of 16 listeners on the main actor, ns", "per-message/mailbox-main/16", "<=", 25),
    ("a message to a queue, ns", "per-message/mailbox-queue/1", "<=", 25),
    ("a message through `messages()`, ns", "per-message/mailbox-sequence/1", "<=", 60),
    ("allocations of a message to an actor", "allocations/mailbox-actor/1", "<=", 0.02),
    ("allocations of a message to a queue", "allocations/mailbox-queue/1", "<=", 0.02),
    ("allocations of a message through `messages()`", "allocations/mailbox-sequence/1", "<=", 0.02),
)


def not_reached(figures):
    """What to say about the goals that were missed, and how many were met."""
    missed = []
    for label, name, comparison, goal in GOALS:
        value = figures(name)
        if value is None:
            missed.append(f"- {label}: not measured")
        elif value > goal if comparison == "<=" else value < goal:
            measured = f"{value:.3g}" if value < 1_000 else f"{value:,.0f}"
            missed.append(f"- {label}: {measured}, goal {comparison} {goal}")
    said = f"{len(GOALS) - len(missed)} of {len(GOALS)} goals were reached in this run.\n"
    return "\n".join([said, *missed]) + "\n" if missed else said
