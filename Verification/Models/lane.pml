/* A lane: posts of several posters to several listeners take tickets, one drain delivers in the order of the tickets, a cancel discards, and
 * cancelAndDrain waits for the call that runs.
 *
 * Two posters and two listeners, with a mailbox each: that of listener 0 has no bound, that of listener 1 keeps the newest message only. Each
 * poster posts to listener 0 and then to listener 1; the second one runs on the lane's own actor for its second message, which may be called at
 * once. Two workers run the jobs, so that a second drain could run beside the first. Listener 0 is cancelled and drained at any time, or not.
 *
 *   here                      in Sources/Channels/Core/Lane
 *   Poster                    Mailbox.enqueue, .mayCall; Lane.enqueue, .append; LaneState.append, .areStale
 *   Worker                    Lane.schedule, .drain, .takeBackFromCancellers, .deliverTaken, .deliverBatch, .deliverOneByOne, .refill, .endTurn
 *   Canceller                 ListenerEntry.cancel, Lane.discard, .waitForCall
 *
 * Memory: sequentially consistent, but for what has a barrier of its own: the drain's store of `current` may be delayed (`stored` is what others
 * see) until it makes a barrier or somebody makes one on every thread. The batch that the drain has taken from listener 0 is the drain's in its
 * turn; between two turns it belongs to who holds the lock and has claimed it by `betweenTurns`. All else is guarded by `lock`. Left out:
 * envelopes, the freeing of closures, compaction: LaneStateTests has these.
 *
 * Asserted: one drain and one call at a time; one thread at a time uses the batch; each poster's messages are called in the order posted, across
 * listeners; no call of a listener once its cancelAndDrain has returned; cancelAndDrain returns, with no waiter left behind; in the end every
 * message was delivered, dropped, discarded or refused, the last two only where the listener was cancelled; no tickets are left in a lane without
 * a job.
 *
 * -DRUN=n           calls before others have a turn (1)
 * -DQUEUE           on a concurrent queue: jobs may overlap, nothing is called at once
 * Planted faults:
 * -DNO_PHASE        a post schedules a drain although one is scheduled or under way (with QUEUE)
 * -DIDLE_UNLOCKED   the drain looks whether there is a ticket and becomes idle in two sections (with RUN=2)
 * -DLATE_TICKET     the ticket is appended in a section after that of the message
 * -DFORGETS_TAKEN   a drain that has taken more than it used becomes idle
 * -DUNCLAIMED       a canceller discards what the drain has taken without claiming it
 * -DNO_WAIT         a turn begins although a canceller has claimed what the one before has left
 * -DNO_STALE        a message that is dropped leaves its ticket good
 * -DIGNORES_OWN     a post on the lane's own actor calls the listener although an earlier one of the actor waits
 * -DNO_BARRIER      cancelAndDrain makes no barrier before it looks at `current`
 * -DNO_SECOND_LOOK  cancelAndDrain does not look again when it has left its continuation
 */
#ifndef RUN
#define RUN 1
#endif
#define MESSAGES 4              /* message 2p + n: the nth of poster p, to listener n */
#define NOBODY 9

mtype = { idle, scheduled, draining };
mtype phase = idle;
bool lock;
bool onActor;
bool cancelled;                 /* listener 0's bit */
byte current = NOBODY;          /* as the drain has stored it */
byte stored = NOBODY;           /* as others see it */
bool hasWaiters;
bool waiting;                   /* a continuation is left */
bool resumed;
bool drained;                   /* cancelAndDrain has returned */
byte drains;
byte calls;
byte jobs;
byte posting;                   /* posts under way: waitForPosts */
byte own;                       /* messages posted on the actor that wait */

mtype = { unposted, incoming, delivered, dropped, discarded, refused };
mtype at[MESSAGES] = unposted;
byte lastOf[2];                 /* the last message of each poster that was delivered, and 1 */

/* The lane: a ticket is the number of a listener, and whether it was posted on the lane's actor. */
chan tickets = [8] of { byte, bool };
/* What the drain has taken, one or two at a time, and not used. */
chan taken = [2] of { byte, bool };
bool betweenTurns;              /* a turn has left some of it, and no canceller has claimed it */
/* The messages of listener 0 that the drain has taken. */
chan batch0 = [4] of { byte };
byte usingBatch;
/* The mailboxes' messages. */
chan inbox0 = [4] of { byte };
chan inbox1 = [4] of { byte };
byte stale1;                    /* how many of listener 1's oldest tickets are stale */

inline acquire() { atomic { !lock -> lock = true } }
inline barrier() { stored = current }

/* A call of message m of listener l. */
inline call(m, l) {
    atomic {
        calls++;
        assert(calls == 1);
        assert(l != 0 || !drained);
        assert(m + 1 > lastOf[m / 2]);
        lastOf[m / 2] = m + 1
    };
    d_step { assert(l != 0 || !drained); calls--; at[m] = delivered }
}

/* Those who wait for the end of a call that is not under way are resumed. */
inline resumeWaiter() {
    acquire();
    barrier();
    if :: waiting -> waiting = false; resumed = true :: else fi;
    hasWaiters = false;
    lock = false
}

/* A message for listener n is let in. Under the lock. */
inline letIn(m, n) {
    if
    :: n == 0 -> inbox0!m
    :: else ->
        if
        :: len(inbox1) > 0 ->
            inbox1?oldest;
            at[oldest] = dropped;
            oldest = 0;
#ifndef NO_STALE
            stale1++
#endif
        :: else
        fi;
        inbox1!m
    fi;
    at[m] = incoming
}

/* The drain takes all that listener 0's mailbox has. Under the lock. */
inline takeAll() {
    beginUse();
    d_step {
        do
        :: len(inbox0) > 0 -> inbox0?m; batch0!m
        :: else -> break
        od;
        m = NOBODY
    };
    usingBatch--
}

inline beginUse() { atomic { usingBatch++; assert(usingBatch == 1) } }

inline discardBatch() {
    beginUse();
    d_step {
        do
        :: len(batch0) > 0 -> batch0?m; at[m] = discarded
        :: else -> break
        od
    };
    usingBatch--
}

inline addTicket(n, isOwn) {
    tickets!n,isOwn;
    if :: isOwn -> own++ :: else fi;
#ifdef NO_PHASE
    phase = scheduled; schedules = true
#else
    if :: phase == idle -> phase = scheduled; schedules = true :: else fi
#endif
}

proctype Poster(byte me) {
    byte n; byte m; byte oldest; bool schedules; bool refuses;
    /* The second poster runs on the actor all the time. */
    if :: me == 1 -> atomic { !onActor -> onActor = true } :: else fi;
    do
    :: n < 2 ->
        atomic { posting++; m = 2 * me + n };
#ifndef QUEUE
        /* A call at once: nothing waits for the listener, nor of the actor. */
        if
        :: me == 1 ->
            if
            :: n == 0 && cancelled -> at[m] = refused; goto posted
#ifdef IGNORES_OWN
            :: (n == 1 || !cancelled) && len(tickets) == 0 || n == 1 && len(inbox1) == 0 -> call(m, n); goto posted
#else
            :: (n == 1 || !cancelled) && own == 0 && (n == 0 && len(inbox0) == 0 || n == 1 && len(inbox1) == 0) ->
                call(m, n); goto posted
#endif
            :: else
            fi
        :: else
        fi;
#endif
        acquire();
        refuses = n == 0 && cancelled;
        if
        :: refuses -> at[m] = refused
        :: else ->
            d_step { letIn(m, n) };
#ifdef LATE_TICKET
            lock = false;
            acquire();
#endif
            d_step { addTicket(n, me == 1) }
        fi;
        lock = false;
        if :: schedules -> jobs++; schedules = false :: else fi;
posted:
        atomic { refuses = false; posting--; n++ }
    :: else -> break
    od;
    if :: me == 1 -> onActor = false :: else fi
}

proctype Worker() {
    byte l = NOBODY; byte m = NOBODY; byte n; bool isIn; bool isOwn;
endWorker:
    do
    :: atomic { jobs > 0 -> jobs-- };
#ifndef QUEUE
        atomic { !onActor -> onActor = true };
#endif
        if
        :: len(taken) > 0 ->
            if
            :: atomic { betweenTurns -> betweenTurns = false }
#ifndef NO_WAIT
            /* A canceller has claimed it, and holds the lock until it is done. */
            :: atomic { !betweenTurns -> skip };
                acquire();
                betweenTurns = false;
                lock = false
#else
            :: !betweenTurns -> skip
#endif
            fi;
            atomic { drains++; assert(drains == 1); n = 0; goto aCall }
        :: else
        fi;
        acquire();
        if
        :: phase != scheduled -> lock = false
        :: else ->
            phase = draining; lock = false;
            atomic { drains++; assert(drains == 1); n = 0 };
aTurn:
            if :: len(taken) > 0 -> goto aCall :: else fi;
            acquire();
            if
            :: len(tickets) == 0 ->
#ifdef IDLE_UNLOCKED
                lock = false;
                acquire();
#endif
                atomic { drains--; phase = idle };
                lock = false;
                goto over
            :: else ->
                atomic {
                    tickets?l,isOwn; taken!l,isOwn;
                    if
                    :: len(tickets) > 0 -> tickets?l,isOwn; taken!l,isOwn
                    :: true
                    fi;
                    l = NOBODY; isOwn = false
                };
                if :: len(batch0) == 0 -> takeAll() :: else fi
            fi;
            lock = false;
aCall:
            taken?l,isOwn;
            /* Relaxed: others see it later. Then the bits are read. */
            current = l;
            if :: hasWaiters -> current = NOBODY; resumeWaiter(); current = l :: else fi;
            if
            :: l == 0 && cancelled ->
                discardBatch();
                atomic { m = NOBODY; if :: isOwn -> own-- :: else fi }
            :: l == 0 && !cancelled ->
                if :: len(batch0) == 0 -> acquire(); takeAll(); lock = false :: else fi;
                beginUse();
                /* Without a message: it has been cancelled meanwhile. */
                if :: len(batch0) > 0 -> batch0?m; isIn = true :: else fi;
                usingBatch--;
                if :: isOwn -> own-- :: else fi;
                if :: isIn -> call(m, l) :: else fi
            :: else ->
                acquire();
                d_step {
                    isIn = false;
                    if
                    :: l == 1 && stale1 > 0 -> stale1--
                    :: l == 1 && stale1 == 0 && len(inbox1) > 0 -> inbox1?m; isIn = true
                    :: else
                    fi;
                    if :: isOwn -> own-- :: else fi
                };
                lock = false;
                if :: isIn -> call(m, l) :: else fi
            fi;
            /* A sequentially consistent load follows, but the store may be late. Where the next ticket has been taken, too, that takes its
             * place at once. */
            if
            :: n + 1 < RUN && len(taken) > 0 -> skip
            :: true ->
                current = NOBODY;
                if :: hasWaiters -> resumeWaiter() :: else fi
            fi;
            atomic { l = NOBODY; m = NOBODY; isIn = false; isOwn = false; n++ };
            if
            :: n < RUN -> goto aTurn
#ifndef FORGETS_TAKEN
            /* The next turn begins with what is left, and without the lock. */
            :: n >= RUN && len(taken) > 0 ->
                if
                :: betweenTurns = true
                :: acquire(); betweenTurns = true; lock = false
                fi;
                atomic { drains--; jobs++ }
            :: n >= RUN && len(taken) == 0 ->
#else
            :: else ->
#endif
                acquire();
                atomic {
                    drains--;
                    if :: len(tickets) == 0 -> phase = idle :: else -> phase = scheduled; jobs++ fi
                };
                lock = false
            fi
        fi;
over:
#ifdef QUEUE
        n = 0
#else
        atomic { n = 0; onActor = false }
#endif
    od
}

/* The processor: what the drain has stored is seen at some time. */
proctype Stores() {
endStores:
    do
    :: stored != current -> stored = current
    od
}

/* cancelAndDrain of listener 0, or none. */
proctype Canceller() {
    byte m; bool claims;
    if
    :: true ->
        cancelled = true;
        acquire();
        d_step {
            do
            :: len(inbox0) > 0 -> inbox0?m; at[m] = discarded
            :: else -> break
            od;
            m = 0;
            claims = betweenTurns;
            betweenTurns = false
        };
#ifndef UNCLAIMED
        if :: claims || phase != draining -> discardBatch() :: else fi;
#else
        discardBatch();
#endif
        if :: claims -> betweenTurns = true :: else fi;
        atomic { m = 0; claims = false };
        lock = false;
        posting == 0;
#ifndef NO_BARRIER
        barrier();
#endif
        if
        :: stored != 0 -> skip
        :: else ->
            acquire();
            waiting = true;
            hasWaiters = true;
            lock = false;
            barrier();
#ifndef NO_SECOND_LOOK
            if
            :: stored != 0 ->
                acquire();
                if :: stored != 0 -> waiting = false; hasWaiters = false; resumed = true :: else fi;
                lock = false
            :: else
            fi;
#endif
            resumed
        fi;
        drained = true
    :: true     /* Nobody cancels. */
    fi
}

/* Nothing runs any more. */
proctype Quiet() {
    timeout;
    assert(at[0] != unposted && at[1] != unposted && at[2] != unposted && at[3] != unposted);
    assert(at[0] != incoming && at[1] != incoming && at[2] != incoming && at[3] != incoming);
    assert(phase == idle && jobs == 0 && len(tickets) == 0 && len(taken) == 0 && len(batch0) == 0 && !waiting && !lock && own == 0 && stale1 == 0);
    assert(cancelled || at[0] == delivered && at[2] == delivered);
    assert(at[1] == delivered || at[3] == delivered);
    assert(at[1] != discarded && at[3] != discarded && at[1] != refused && at[3] != refused)
}

init {
    atomic { run Poster(0); run Poster(1); run Worker(); run Worker(); run Canceller(); run Stores(); run Quiet() }
}
