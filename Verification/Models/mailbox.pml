/* A mailbox: posts enqueue, one drain delivers, a cancel discards, and the closure is freed once nobody can call it.
 *
 * Two posters, each of two messages; the second message of the second poster is posted on the listener's own actor, where it may be called
 * at once. Two workers run the jobs, so that a second drain could run beside the first. The listener is cancelled and drained, or its
 * owner goes, or neither, at any time. The buffer has no bound.
 *
 *   here                      in Sources/Channels/Core
 *   Poster                    Mailbox.enqueueAlone, .mayCall; ListenerList.deliverWithCare
 *   Worker                    Mailbox.schedule, .drain, .deliverRun, .deliverBatches, .refill     (Mailbox+Drain)
 *   becomeIdle, leaveDrain    Mailbox.becomeIdle, Leaving.leave                                  (Mailbox+Drain)
 *   dead:                     Mailbox.goIdle(_:isDead:)                                          (Mailbox+Drain)
 *   Canceller                 ListenerEntry.cancel, Mailbox.discardWaiting, .waitForDrain
 *   Leaver                    ListenerEntry.hasLeft, Mailbox.listenerHasLeft
 *
 * Memory: sequentially consistent. All is guarded by `lock` but for the entry's bit, which `cancel` sets before it takes the lock and
 * `enqueue` reads under it, and `isBusy`, which is read on the listener's own isolation, where the drain that clears it runs. When posts can
 * no longer see the entry is the other model's affair: here, when both posters have ended (`posting` for `waitForPosts`).
 *
 * Asserted: one drain and one call at a time; each message is called once, in the order of its poster; no call once cancelAndDrain has
 * returned, or after the closure was freed; cancelAndDrain returns; in the end every message was delivered, discarded or refused, the last
 * two only where the listener ended, the mailbox is idle and the closure of an ended listener is free, once.
 *
 * -DRUN=n           messages delivered before others have a turn (1)
 * Planted faults:
 * -DNO_PHASE        a post schedules a drain although one is scheduled or under way
 * -DIDLE_UNLOCKED   the drain looks whether something waits and becomes idle in two sections
 * -DBATCH_STAYS     a drain that finds its owner gone leaves what it has taken
 * -DIGNORES_BUSY    a post on the listener's own actor calls it although messages wait
 * -DFREES_EARLY     the closure is freed when no post can see the entry, whether or not the mailbox is idle
 */
#define POSTERS 2
#define EACH 2
#define MESSAGES 4
#ifndef RUN
#define RUN 1                   /* messages delivered before others have a turn */
#endif

mtype = { idle, scheduled, draining };
mtype phase = idle;
bool lock;
bool cancelled;                 /* the bit in the entry's word */
bool isDead;
bool ownerGone;
bool isBusy;
bool onActor;                   /* somebody runs on the listener's actor */
byte posting;                   /* posts under way */
bool hasLeft;
bool bodyFreed;
byte drains;                    /* drains under way */
byte calls;                     /* calls under way */
byte jobs;                      /* jobs started and not yet begun */
bool drained;                   /* cancelAndDrain has returned */
bool waiting;
bool resumed;
byte ended;

/* Where each message is. */
mtype = { unposted, incoming, batch, delivered, discarded, refused };
mtype at[MESSAGES] = unposted;
byte lastOf[POSTERS];           /* the last message of each poster that was delivered, and 1 */

#define IS(m, where) (at[m] == where)
#define ANY(where) (IS(0, where) || IS(1, where) || IS(2, where) || IS(3, where))

inline acquire() { atomic { !lock -> lock = true } }

inline move(from, to) {
    d_step {
        i = 0;
        do
        :: i < MESSAGES -> if :: at[i] == from -> at[i] = to :: else fi; i++
        :: else -> break
        od;
        i = 0
    }
}

inline freeBody() { d_step { assert(!bodyFreed); bodyFreed = true } }

/* A call of message m. */
inline call(m) {
    atomic {
        calls++;
        assert(calls == 1 && !drained && !bodyFreed);
        assert(m + 1 > lastOf[m / EACH]);
        lastOf[m / EACH] = m + 1
    };
    d_step { assert(!drained && !bodyFreed); calls--; at[m] = delivered }
}

proctype Poster(byte me) {
    byte n; bool schedules; bool refuses;
    do
    :: n < EACH ->
        posting++;
        if
        :: me == 1 && n == 1 ->
            atomic { !onActor -> onActor = true };
            if
            :: d_step { cancelled -> at[3] = refused }; goto posted
#ifdef IGNORES_BUSY
            :: d_step { !cancelled -> skip }; call(3); goto posted
#else
            :: d_step { !cancelled && !isBusy -> skip }; call(3); goto posted
            :: d_step { !cancelled && isBusy -> skip }
#endif
            fi
        :: else
        fi;
        acquire();
        refuses = cancelled || isDead;
        if
        :: refuses -> at[me * EACH + n] = refused
        :: else ->
            d_step { at[me * EACH + n] = incoming; isBusy = true };
            if
#ifdef NO_PHASE
            :: true -> schedules = true
#else
            :: phase == idle -> schedules = true
            :: else
#endif
            fi;
            if :: schedules -> phase = scheduled :: else fi
        fi;
        lock = false;
        if :: schedules -> jobs++; schedules = false :: else fi;
posted:
        atomic {
            if :: me == 1 && n == 1 -> onActor = false :: else fi;
            refuses = false; posting--; n++
        }
    :: else -> break
    od;
    atomic {
        ended++;
        /* The last post to end lets the entry leave, if it was taken out. */
        if :: ended == POSTERS -> run Leaver() :: else fi
    }
}

/* No post can see the entry any more. */
proctype Leaver() {
endNobodyCancels:
    cancelled;
    acquire();
    hasLeft = true;
    if
#ifdef FREES_EARLY
    :: true -> lock = false; freeBody()
#else
    :: phase == idle && !ANY(incoming) -> lock = false; freeBody()
    :: else -> lock = false
#endif
    fi
}

inline becomeIdle() {
    phase = idle;
    isBusy = false;
    frees = hasLeft;
    wakes = waiting;
    waiting = false
}

inline leaveDrain() {
    if :: frees -> freeBody() :: else fi;
    if :: wakes -> resumed = true :: else fi;
    frees = false; wakes = false
}

/* Two workers: a second drain could run beside the first. */
proctype Worker() {
    byte i; byte m; byte n; bool frees; bool wakes;
endWorker:
    do
    :: atomic { jobs > 0 -> jobs-- };
        /* The job runs on the listener's actor. */
        atomic { !onActor -> onActor = true };
        acquire();
        if
        :: phase != scheduled ->
#ifdef NO_PHASE
            phase = draining; lock = false; goto drain
#else
            lock = false
#endif
        :: else -> phase = draining; lock = false;
drain:
            atomic { drains++; assert(drains == 1) };
            n = 0;
aRun:
            if
            :: ownerGone -> goto dead
            :: else
            fi;
aCall:
            if
            :: !ANY(batch) ->
                acquire();
                if
                :: !ANY(incoming) ->
#ifdef IDLE_UNLOCKED
                    lock = false;
                    acquire();
#endif
                    drains--;
                    becomeIdle();
                    lock = false;
                    leaveDrain();
                    goto over
                :: else -> move(incoming, batch)
                fi;
                lock = false
            :: else
            fi;
            if :: cancelled -> goto dead :: else fi;
            /* The first of the batch: each poster's in order. */
            atomic {
                if
                :: IS(0, batch) -> m = 0
                :: !IS(0, batch) && IS(1, batch) -> m = 1
                :: IS(2, batch) -> m = 2
                :: !IS(2, batch) && IS(3, batch) -> m = 3
                fi
            };
            call(m);
            d_step { m = 0; n++ };
            if
            :: n < RUN -> goto aCall
            :: else ->
                acquire();
                atomic { drains--; phase = scheduled };
                lock = false;
                atomic { jobs++; n = 0 };
                goto over
            fi;
dead:
#ifndef BATCH_STAYS
            move(batch, discarded);
#endif
            acquire();
            isDead = true;
            move(incoming, discarded);
            drains--;
            becomeIdle();
            lock = false;
            leaveDrain();
            atomic { n = 0; cancelled = true }
        fi;
over:
        atomic { n = 0; onActor = false }
    od
}

/* cancelAndDrain, or the owner's end. */
proctype Canceller() {
    byte i; bool waits;
    if
    :: true -> ownerGone = true
    :: true ->
        cancelled = true;
        acquire();
        isDead = true;
        move(incoming, discarded);
        if :: phase != draining -> isBusy = false :: else fi;
        lock = false;
        posting == 0;
        acquire();
        if :: phase == draining -> waiting = true; waits = true :: else fi;
        lock = false;
        if :: waits -> resumed :: else fi;
        atomic { assert(calls == 0); drained = true }
    :: true     /* Nobody cancels. */
    fi
}

/* Nothing runs any more: every message has been delivered, discarded or refused, and nothing waits for a job that never comes. */
proctype Quiet() {
    timeout;
    assert(!ANY(unposted) && !ANY(incoming) && !ANY(batch));
    assert(phase == idle && jobs == 0 && !waiting && !lock);
    assert(cancelled || isDead || !ANY(discarded) && !ANY(refused));
    assert(!hasLeft || bodyFreed)
}

init {
    atomic { run Poster(0); run Poster(1); run Worker(); run Worker(); run Canceller(); run Quiet() }
}
