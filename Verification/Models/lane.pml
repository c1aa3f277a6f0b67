/* A lane: posts of several posters to several listeners take tickets, one drain delivers in the order of the tickets, a cancel discards, and
 * cancelAndWait waits for the call that runs.
 *
 * Two posters and two listeners, with a mailbox each: that of listener 0 has no bound, that of listener 1 keeps the newest message only. Each
 * poster posts to listener 0 and then to listener 1; the second one runs on the lane's own actor, where a listener may be called at once. Two
 * workers run the jobs, so that a second drain could run beside the first. One of the listeners is cancelled and drained at any time, or not.
 *
 *   here                      in Sources/Channels/Engine/Lanes
 *   Poster                    ListenerList.enqueue, Mailbox.mayCall; Lane.enqueue, .append; LaneState.append, MailboxState.admit
 *   Worker                    Lane.schedule, .drain, .reclaimFromCancellers, .deliverTaken, .deliverBatch, .deliverOneByOne, .refill, .endTurn
 *   publish                   Lane.setCurrent
 *   resumeWaiters             Lane.resumeWaiters
 *   Canceller                 ListenerEntry.cancel, Lane.discard, .waitForCall
 *
 * A ticket says: the next message of this listener. So there are as many as messages wait, until the listener is cancelled: its messages go
 * at once, its tickets stay and are skipped. What a full buffer takes in has the ticket of what it drops. Tickets of one listener that follow
 * each other are a run: the drain publishes once for a run whom it calls.
 *
 * Memory: sequentially consistent. The drain exchanges `current`, then looks whether the listener is cancelled; at the end of a run it
 * exchanges it again, then looks at `hasWaiters`. A canceller does the same the other way round. These looks must not come before the
 * exchange (LATE_LOOK). The batch that the drain has taken from listener 0 is the drain's in its turn; between two turns it belongs to who
 * holds the lock and has claimed it by `betweenTurns`. All else is guarded by `lock`. Left out: envelopes, the freeing of closures, owners.
 *
 * Asserted: one drain and one call at a time; one thread at a time uses the batch; what waits for a listener is heard before what is posted
 * to it later; what a poster posts from elsewhere is heard in the order posted, across listeners, but for a message that has the place of
 * another; a listener that is not cancelled has a message for each ticket; no call of a listener once its cancelAndWait has returned;
 * cancelAndWait returns, with no waiter left behind; in the end every message was delivered, dropped, discarded or refused, the last two only
 * where the listener was cancelled; no tickets are left in a lane without a job.
 *
 * -DRUN=n           calls before others have a turn (1)
 * -DVICTIM=n        the listener that is cancelled (0)
 * -DQUEUE           on a concurrent queue: jobs may overlap, both posters are elsewhere, nothing is called at once
 * Planted faults:
 * -DNO_PHASE        a post schedules a drain although one is scheduled or under way (with QUEUE)
 * -DIDLE_UNLOCKED   the drain looks whether there is a ticket and becomes idle in two sections (with RUN=2)
 * -DLATE_TICKET     the ticket is appended in a section after that of the message (with QUEUE)
 * -DNEW_TICKET      a message that takes the place of another has a ticket of its own, too
 * -DFORGETS_TAKEN   a drain that has taken more than it used becomes idle
 * -DUNCLAIMED       a canceller discards what the drain has taken without claiming it
 * -DNO_WAIT         a turn begins although a canceller has claimed what the one before has left
 * -DNO_LOOK         a post on the lane's own actor calls the listener although a message waits for it
 * -DLATE_LOOK       the drain looks whether the listener is cancelled before it publishes that it calls it
 * -DNO_SECOND_LOOK  cancelAndWait does not look again when it has left its continuation
 * -DNO_LOOK_AFTER   the drain does not look for waiters at the end of a run
 */
#ifndef RUN
#define RUN 1
#endif
#ifndef VICTIM
#define VICTIM 0
#endif
#define MESSAGES 4              /* message 2p + n: the nth of poster p, to listener n */
#define NOBODY 9

mtype = { idle, scheduled, draining };
mtype phase = idle;
bool lock;
bool onActor;
bool cancelled;                 /* the victim's bit */
byte current = NOBODY;          /* whom the drain calls */
bool hasWaiters;
bool waiting;                   /* a continuation is left */
bool resumed;
bool drained;                   /* cancelAndWait has returned */
byte drains;
byte calls;
byte jobs;
byte posting;                   /* posts under way: waitForPosts */

mtype = { unposted, incoming, delivered, dropped, discarded, refused };
mtype at[MESSAGES] = unposted;
bool isBehind[MESSAGES];        /* the other poster's message waited for the same listener when this one was posted */
bool hasMoved[MESSAGES];        /* it has the place of one that was dropped */
byte lastOf[2];                 /* the last message of each poster from elsewhere that was delivered, and 1 */

/* The lane: a ticket is the number of a listener. */
chan tickets = [8] of { byte };
/* What the drain has taken, one or two at a time, and not used. */
chan taken = [2] of { byte };
bool betweenTurns;              /* a turn has left some of it, and no canceller has claimed it */
/* The messages of listener 0 that the drain has taken. */
chan batch0 = [4] of { byte };
byte usingBatch;
/* The mailboxes' messages. */
chan inbox0 = [4] of { byte };
chan inbox1 = [4] of { byte };

#define OTHER(m) ((m + 2) % 4)
#define IS_VICTIM(n) (n == VICTIM && cancelled)
/* Messages wait for listener n. Asked on the lane's actor, where no call is under way. */
#define WAITS(n) (n == 0 && (len(inbox0) > 0 || len(batch0) > 0) || n == 1 && len(inbox1) > 0)
#ifdef QUEUE
#define IS_ELSEWHERE(m) true
#else
#define IS_ELSEWHERE(m) (m < 2)
#endif

inline acquire() { atomic { !lock -> lock = true } }

/* A call of message m of listener l. */
inline call(m, l) {
    d_step {
        calls++;
        assert(calls == 1);
        assert(l != VICTIM || !drained);
        assert(!isBehind[m] || at[OTHER(m)] != incoming);
        isBehind[m] = false;
        if
        :: IS_ELSEWHERE(m) && !hasMoved[m] -> assert(m + 1 > lastOf[m / 2]); lastOf[m / 2] = m + 1
        :: else
        fi
    };
    d_step { assert(l != VICTIM || !drained); calls--; at[m] = delivered; hasMoved[m] = false }
}

/* The drain says whom it calls, by an exchange. */
inline publish(who) {
#ifdef LATE_LOOK
    seesEnd = IS_VICTIM(who);
#endif
    current = who
}
#ifdef LATE_LOOK
#define LOOK(l) seesEnd
#else
#define LOOK(l) IS_VICTIM(l)
#endif

/* Those who wait for the end of a call that is not under way are resumed. */
inline resumeWaiters() {
    acquire();
    if :: waiting && current != VICTIM -> waiting = false; resumed = true :: else fi;
    hasWaiters = waiting;
    lock = false
}

/* A message for listener n is let in. Under the lock. */
inline admitted(m, n) {
    hasPlace = false;
    if
    :: n == 0 -> inbox0!m
    :: else ->
        if
        :: len(inbox1) > 0 ->
            inbox1?oldest;
            at[oldest] = dropped; isBehind[oldest] = false; hasMoved[oldest] = false;
            oldest = 0;
            hasMoved[m] = true;
#ifndef NEW_TICKET
            hasPlace = true
#endif
        :: else
        fi;
        inbox1!m
    fi;
    at[m] = incoming
}

inline addTicket(n) {
    if
    :: hasPlace
    :: else ->
        tickets!n;
#ifdef NO_PHASE
        phase = scheduled; schedules = true
#else
        if :: phase == idle -> phase = scheduled; schedules = true :: else fi
#endif
    fi;
    hasPlace = false
}

inline beginUse() { atomic { usingBatch++; assert(usingBatch == 1) } }

/* The drain takes all that listener 0's mailbox has. Under the lock. */
inline takeAll() {
    beginUse();
    d_step {
        do
        :: len(inbox0) > 0 -> inbox0?m; batch0!m
        :: else -> break
        od;
        m = NOBODY;
        usingBatch--
    }
}

inline discardBatch() {
    beginUse();
    d_step {
        do
        :: len(batch0) > 0 -> batch0?m; at[m] = discarded; isBehind[m] = false; hasMoved[m] = false
        :: else -> break
        od;
        m = NOBODY;
        usingBatch--
    }
}

proctype Poster(byte me) {
    byte n; byte m; byte oldest; bool schedules; bool hasPlace;
#ifndef QUEUE
    /* The second poster runs on the actor all the time. */
    if :: me == 1 -> atomic { !onActor -> onActor = true } :: else fi;
#endif
    do
    :: n < 2 ->
        d_step { posting++; m = 2 * me + n; isBehind[m] = at[OTHER(m)] == incoming };
#ifndef QUEUE
        /* A call at once: nothing waits for the listener. */
        if
        :: me == 1 ->
            if
            :: IS_VICTIM(n) -> d_step { at[m] = refused; isBehind[m] = false }; goto posted
#ifdef NO_LOOK
            :: !IS_VICTIM(n) -> call(m, n); goto posted
#else
            :: !IS_VICTIM(n) && !WAITS(n) -> call(m, n); goto posted
#endif
            :: !IS_VICTIM(n) && WAITS(n)
            fi
        :: else
        fi;
#endif
        acquire();
        if
        :: IS_VICTIM(n) -> d_step { at[m] = refused; isBehind[m] = false }
        :: else ->
#ifdef LATE_TICKET
            d_step { admitted(m, n) };
            lock = false;
            acquire();
            d_step { addTicket(n) }
#else
            d_step { admitted(m, n); addTicket(n) }
#endif
        fi;
        d_step { lock = false; if :: schedules -> jobs++; schedules = false :: else fi };
posted:
        atomic { posting--; m = 0; n++ }
    :: else -> break
    od;
#ifndef QUEUE
    if :: me == 1 -> onActor = false :: else fi
#endif
}

proctype Worker() {
    byte l = NOBODY; byte m = NOBODY; byte n; bool seesEnd;
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
            atomic { drains++; assert(drains == 1); n = 0 };
            taken?<l>;
            publish(l);
            goto aCall
        :: else
        fi;
        acquire();
        if
        :: phase != scheduled -> lock = false
        :: else ->
            atomic { phase = draining; drains++; assert(drains == 1); n = 0; goto aLook };
aRefill:
            acquire();
aLook:
            if
            :: len(tickets) == 0 ->
#ifdef IDLE_UNLOCKED
                lock = false;
                acquire();
#endif
                d_step { drains--; phase = idle; lock = false };
                goto over
            :: else ->
                atomic {
                    tickets?l; taken!l;
                    if
                    :: len(tickets) > 0 -> tickets?l; taken!l
                    :: true
                    fi;
                    l = NOBODY
                };
                if :: len(batch0) == 0 -> takeAll() :: else fi
            fi;
            lock = false;
            taken?<l>;
            publish(l);
            /* Whom it calls has been published. */
aCall:
            taken?l;
            if
            :: LOOK(l) ->
                /* What was taken is the drain's. A mailbox with a bound has been emptied, or is about to be. */
                if :: l == 0 -> discardBatch() :: else fi
            :: !LOOK(l) && l == 0 ->
                if :: len(batch0) == 0 -> acquire(); takeAll(); lock = false :: else fi;
                beginUse();
                d_step {
                    /* Without a message: it has been cancelled meanwhile. */
                    assert(len(batch0) > 0 || IS_VICTIM(0));
                    if :: len(batch0) > 0 -> batch0?m :: else fi;
                    usingBatch--
                };
                if :: m != NOBODY -> call(m, l) :: else fi
            :: !LOOK(l) && l == 1 ->
                acquire();
                d_step {
                    assert(len(inbox1) > 0 || IS_VICTIM(1));
                    if :: len(inbox1) > 0 -> inbox1?m :: else fi;
                    lock = false
                };
                if :: m != NOBODY -> call(m, l) :: else fi
            fi;
            d_step { m = NOBODY; n++ };
            if
            /* The run goes on. */
            :: n < RUN && taken?[eval(l)] -> goto aCall
            :: n < RUN && !taken?[eval(l)] && len(taken) > 0 -> taken?<l>; publish(l)
            :: n == RUN || len(taken) == 0 -> l = NOBODY; publish(NOBODY)
            fi;
#ifndef NO_LOOK_AFTER
            if :: hasWaiters -> resumeWaiters() :: else fi;
#endif
            if
            :: n < RUN && len(taken) > 0 -> goto aCall
            :: n < RUN && len(taken) == 0 -> goto aRefill
#ifndef FORGETS_TAKEN
            /* The next turn begins with what is left, and without the lock. */
            :: n == RUN && len(taken) > 0 ->
                if
                :: betweenTurns = true
                :: acquire(); betweenTurns = true; lock = false
                fi;
                d_step { drains--; jobs++ }
            :: n == RUN && len(taken) == 0 ->
#else
            :: n == RUN ->
#endif
                acquire();
                d_step {
                    drains--;
                    if :: len(tickets) == 0 -> phase = idle :: else -> phase = scheduled; jobs++ fi;
                    lock = false
                }
            fi
        fi;
over:
        atomic { n = 0; l = NOBODY; seesEnd = false; onActor = false }
    od
}

/* cancelAndWait of a listener, or none. */
proctype Canceller() {
    byte m = NOBODY; bool claims;
    if
    :: true ->
        cancelled = true;
        acquire();
        d_step {
            do
#if VICTIM == 0
            :: len(inbox0) > 0 -> inbox0?m; at[m] = discarded; isBehind[m] = false
#else
            :: len(inbox1) > 0 -> inbox1?m; at[m] = discarded; isBehind[m] = false; hasMoved[m] = false
#endif
            :: else -> break
            od;
            m = NOBODY
        };
#if VICTIM == 0
        d_step { claims = betweenTurns; betweenTurns = false };
#ifndef UNCLAIMED
        if :: claims || phase != draining -> discardBatch() :: else fi;
#else
        discardBatch();
#endif
        if :: claims -> betweenTurns = true; claims = false :: else fi;
#endif
        lock = false;
        posting == 0;
        if
        :: current != VICTIM
        :: else ->
            atomic { !lock -> lock = true; waiting = true };
            hasWaiters = true;
            lock = false;
#ifndef NO_SECOND_LOOK
            if :: current != VICTIM -> resumeWaiters() :: else fi;
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
    assert(phase == idle && jobs == 0 && len(tickets) == 0 && len(taken) == 0 && len(batch0) == 0 && !waiting && !hasWaiters && !lock);
    assert(cancelled == drained && current == NOBODY && calls == 0 && drains == 0);
    assert(IS_VICTIM(0) || at[0] == delivered && at[2] == delivered);
    assert(IS_VICTIM(1) || at[1] == delivered || at[3] == delivered);
    assert(IS_VICTIM(1) || at[1] != discarded && at[3] != discarded && at[1] != refused && at[3] != refused)
}

init {
    atomic { run Poster(0); run Poster(1); run Worker(); run Worker(); run Canceller(); run Quiet() }
}
