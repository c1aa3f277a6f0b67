/* How the listeners of a channel are read without a lock, changed under one, and freed.
 *
 * One channel, two posting threads (the first of which may post inside a listener), a thread that cancels and drains entry 0, one that
 * registers entry 2 and cancels it. Entry 1 stays.
 *
 *   here                            in Sources/Channels/Core
 *   enter, leave                    ListenerList.enter, .leave                     (Post/ListenerList+Post)
 *   post, visit                     ListenerList.post, .deliver(_:_:before:)       (Post/ListenerList+Post)
 *   remove, unlink, Changer         remove, takeOut, unlink; insert, link          (List/ListenerList+Remove, +Add, +Links)
 *   SCAN                            PostUnderWay.posts(on:), and .hasPosts(on:), which looks before in the same way   (List/PostUnderWay)
 *   HAS_ENDED                       PostUnderWay.hasEnded(on:)                     (List/PostUnderWay)
 *   remove's middle, announce       retire, announceRetired(to:)                   (List/ListenerList+Reclaim)
 *   settle                          didUnlock, collectIfAsked, barrierThenCollect, collectAfterPost
 *   collectBody, afterCollect       collect(waitsForLock:), RetiredEntries.Chain.free
 *   Drainer                         ListenerToken.cancelAndDrain, waitForPosts
 *
 * Memory. Everything is sequentially consistent, as the code asks for by its orderings, but for a slot: the store that clears it may be
 * delayed past the load of `hasRetired` that follows. Each slot has a buffer for that store, which drains at any time, before the next
 * exchange of its thread, and at a barrier on every thread. The lock is taken and given up in one step each: its users order themselves by
 * `mustCollect`.
 *
 * Asserted: nothing is read or called after it was freed; nothing is freed twice or while linked; a post calls each listener that is there
 * all the time once, and one registered before it; no call of entry 0 runs or begins once cancelAndDrain has returned, and it returns; in
 * the end all that was taken out is free.
 *
 * -DFALLBACK            there is no barrier on every thread: a post ends with an exchange (`endsWithBarrier`)
 * -DNESTING             the first thread posts inside entry 1
 * -DOTHER_CANCELS       another thread cancels entry 0, too
 * -DONE_GROUP           both posting threads are of one group (`ThreadRecord.group`)
 * Planted faults:
 * -DNO_BARRIER          neither the barrier nor the exchange
 * -DPLAIN_ENTER         the slot is set by a store, which may be seen late, instead of an exchange
 * -DNO_SCAN             an entry is freed without looking at the slots
 * -DBIT_LATE            a post says that its group posts here only after it has read the chain
 * -DNO_RETRY            a post that finds the lock taken leaves no word for its holder
 * -DHOLDER_FORGETS      whoever registers does not look for that word
 * -DONE_GENERATION      what is retired later is freed with what was retired before
 * -DFREES_NEWEST        what is retired while older entries wait is freed before them
 * -DTWO_REMOVERS        an entry's removal is not claimed by one atomic step: with -DOTHER_CANCELS
 */
#define SLOTS 3                 /* of the posters: two of the first thread, one of the second */
#define ENTRIES 3               /* 0 and 1 are there from the start, 2 is registered later */
#define NONE 7
#ifndef ROUNDS
#define ROUNDS 1                /* posts of the second thread */
#endif

/* The chain in the order of delivery. */
byte head;
byte next[ENTRIES];
bool linked[ENTRIES];
bool ended[ENTRIES];            /* the bit in `word` that says so */
byte number[ENTRIES];
byte nextNumber = 3;
bool retiredOnce[ENTRIES];
bool freed[ENTRIES];

/* A slot as every thread sees it, and what its own thread has stored and others may not see yet. */
bool slot[SLOTS];
byte sequence[SLOTS];
bool clearing[SLOTS];
bool setting[SLOTS];            /* -DPLAIN_ENTER only */
bool posters[SLOTS];            /* the bit of a slot's thread in `posters`; that of GROUP(s) counts */
#ifdef ONE_GROUP
#define GROUP(s) 0
#else
#define GROUP(s) (s)
#endif

bool lock;
bool hasRetired;
bool mustCollect;

/* Guarded by the lock. */
bool isAnnounced;
bool current[ENTRIES];
bool incoming[ENTRIES];
bool underWay[SLOTS];
byte underWaySequence[SLOTS];
/* cancelAndDrain: what it waits for, and whether it has been resumed. */
bool waiting;
bool resumed;
bool waitsFor[SLOTS];
byte waitsForSequence[SLOTS];
bool drained;                   /* cancelAndDrain of entry 0 has returned */
bool registered;                /* entry 2 is in, and its registration has returned */
byte threadsEnded;

#define HAS_CURRENT (current[0] || current[1] || current[2])
#define HAS_INCOMING (incoming[0] || incoming[1] || incoming[2])
#define HAS_ENDED(s, q) (!slot[s] || sequence[s] != (q))
#define ALL_ENDED(set, q) \
    ((!set[0] || HAS_ENDED(0, q[0])) && (!set[1] || HAS_ENDED(1, q[1])) && (!set[2] || HAS_ENDED(2, q[2])))

inline acquire() { atomic { !lock -> lock = true } }

/* The groups are read first, then slot by slot. `own1` and `own2` are the calling thread's. */
#define SCAN(set, q, own1, own2) \
    d_step { groups[0] = posters[GROUP(0)]; groups[1] = posters[GROUP(1)]; groups[2] = posters[GROUP(2)]; any = false; others = false; i = 0 }; \
    do \
    :: d_step { i < SLOTS && groups[i] && slot[i] -> \
        set[i] = true; q[i] = sequence[i]; any = true; others = others || (i != own1 && i != own2); i++ } \
    :: d_step { i < SLOTS && !(groups[i] && slot[i]) -> set[i] = false; q[i] = 0; i++ } \
    :: d_step { i == SLOTS -> groups[0] = false; groups[1] = false; groups[2] = false; i = 0 }; break \
    od

/* announceRetired */
inline announce(others) {
    hasRetired = true;
    d_step { if :: !isAnnounced && others -> isAnnounced = true; needsBarrier = true :: else fi; any = false; others = false }
}

inline free(e) {
    d_step {
        assert(!freed[e]);       /* once */
        assert(!linked[e]);
        freed[e] = true
    }
}

/* Takes entry e out and retires it; then what withLock and takeOut do. */
inline remove(e, own1, own2) {
#ifdef TWO_REMOVERS
    old = ended[e];
    ended[e] = true;
#else
    atomic { old = ended[e]; ended[e] = true };
#endif
    if
    :: !old ->
        acquire();
        unlink(e);
        assert(!retiredOnce[e]); retiredOnce[e] = true;
        mine = NONE;
        if
#ifdef FREES_NEWEST
        :: HAS_CURRENT -> mine = e
#else
        :: HAS_CURRENT -> incoming[e] = true
#endif
        :: else ->
            SCAN(underWay, underWaySequence, own1, own2);
#ifdef NO_SCAN
            any = false;
#endif
            if
            :: any -> current[e] = true; announce(others)
            :: else -> mine = e
            fi
        fi;
        lock = false;
        if :: mine != NONE -> free(mine); mine = NONE :: else fi;
        if :: hasRetired || needsBarrier -> settle(own1, own2) :: else fi
    :: else
    fi
}

/* An entry that has been taken out keeps its `next`. */
inline unlink(e) {
    d_step {
        linked[e] = false;
        if
        :: head == e -> head = next[e]
        :: else ->
            i = 0;
            do
            :: i < ENTRIES -> if :: linked[i] && next[i] == e -> next[i] = next[e] :: else fi; i++
            :: else -> break
            od;
            i = 0
        fi
    }
}

/* Under the lock; `going` is what to free without it. */
inline collectBody(own1, own2) {
    do
    :: HAS_CURRENT && ALL_ENDED(underWay, underWaySequence) ->
        d_step {
            i = 0;
            do
            :: i < ENTRIES ->
                if :: current[i] -> going[i] = true :: else fi;
#ifdef ONE_GENERATION
                if :: incoming[i] -> going[i] = true :: else fi;
                current[i] = false;
#else
                current[i] = incoming[i];
#endif
                incoming[i] = false;
                i++
            :: else -> break
            od;
            i = 0
        };
        if
        :: HAS_CURRENT ->
            SCAN(underWay, underWaySequence, own1, own2);
            if :: any -> announce(others) :: else fi
        :: else
        fi
    :: else -> break
    od;
    if
    :: atomic { waiting && ALL_ENDED(waitsFor, waitsForSequence) -> waiting = false; wakes = true }
    :: else
    fi;
    if
    :: d_step { !HAS_CURRENT && !waiting -> hasRetired = false; isAnnounced = false }
    /* An announcement is not taken back at once (mostIdleCollections): here, at any time. */
    :: !HAS_CURRENT && !waiting && isAnnounced
    :: else
    fi
}

inline afterCollect() {
    d_step {
        i = 0;
        do
        :: i < ENTRIES ->
            if :: going[i] -> assert(!freed[i] && !linked[i]); freed[i] = true; going[i] = false :: else fi;
            i++
        :: else -> break
        od;
        i = 0;
        if :: wakes -> resumed = true; wakes = false :: else fi
    }
}

#define COLLECT(own1, own2) collectBody(own1, own2); lock = false; afterCollect()

inline barrier() {
#ifndef FALLBACK
#ifndef NO_BARRIER
    d_step {
        i = 0;
        do
        :: i < SLOTS ->
            if :: clearing[i] -> slot[i] = false; clearing[i] = false :: setting[i] -> slot[i] = true; setting[i] = false :: else fi;
            i++
        :: else -> break
        od;
        i = 0
    }
#endif
#endif
    skip
}

/* collectIfAsked and barrierThenCollect: until there is neither a barrier to make nor a word left by a post. */
inline settle(own1, own2) {
    do
    :: needsBarrier ->
        needsBarrier = false;
        barrier();
        acquire();
        COLLECT(own1, own2)
    :: atomic { mustCollect -> mustCollect = false };
        tries = 0;
        do
        :: tries < 2 ->
            if
            :: atomic { !lock -> lock = true };
                COLLECT(own1, own2);
                tries = 3
            :: atomic { lock -> tries++ };
#ifdef NO_RETRY
                tries = 2
#else
                if :: tries == 1 -> mustCollect = true :: else fi
#endif
            fi
        :: else -> break
        od;
        /* The holder of the lock does the rest. */
        if :: tries == 2 && !needsBarrier -> break :: else fi
    :: atomic { !mustCollect && !needsBarrier -> break }
    od;
    tries = 0
}

#define LOCALS \
    byte i; byte mine = NONE; byte tries; bool any; bool others; bool needsBarrier; bool wakes; bool old; bool going[ENTRIES]; bool groups[SLOTS]

/* The exchange waits for the thread's earlier stores. */
inline enter(s) {
#ifndef BIT_LATE
    if :: !posters[GROUP(s)] -> posters[GROUP(s)] = true :: else fi;
#endif
    d_step { if :: clearing[s] -> slot[s] = false; clearing[s] = false :: else fi; sequence[s]++ };
#ifdef PLAIN_ENTER
    setting[s] = true
#else
    slot[s] = true
#endif
}

inline leave(s, own1, own2) {
#ifdef FALLBACK
    slot[s] = false;
#else
    d_step { setting[s] = false; clearing[s] = true };
#endif
    if
    :: hasRetired ->
        /* collectAfterPost begins with an exchange, before which what this thread stored is seen. */
        d_step {
            if :: clearing[own1] -> slot[own1] = false; clearing[own1] = false :: else fi;
            if :: clearing[own2] -> slot[own2] = false; clearing[own2] = false :: else fi;
            mustCollect = true
        };
        settle(own1, own2)
    :: else
    fi
}

/* Calls the listener at an entry, or skips it. */
inline visit(at, before, heardStable, heardLate) {
    assert(!freed[at]);
    if
    :: atomic { !ended[at] && number[at] < before ->
        /* The check has been passed; the call goes on for a while. */
        if :: at == 1 -> assert(!heardStable); heardStable = true :: at == 2 -> heardLate = true :: else fi };
        assert(!freed[at] && (at != 0 || !drained))
    :: atomic { else -> skip }
    fi
}

/* The posts of one thread. The first thread posts once more inside the listener that stays. */
inline post(s, at, before, heardStable, heardLate, own1, own2, isOuter) {
    heardStable = false; heardLate = false;
    enter(s);
    before = nextNumber;
    at = head;
#ifdef BIT_LATE
    posters[GROUP(s)] = true;
#endif
    do
    :: at != NONE ->
        visit(at, before, heardStable, heardLate);
        if
        :: isOuter && at == 1 -> post2(1, innerAt, innerBefore, innerStable, innerLate, own1, own2)
        :: else
        fi;
        d_step { assert(!freed[at]); at = next[at] }
    :: else -> break
    od;
    atomic { assert(heardStable); before = 0; heardStable = false; at = 0 };
    leave(s, own1, own2)
}

inline post2(s, at, before, heardStable, heardLate, own1, own2) {
    heardStable = false; heardLate = false;
    enter(s);
    before = nextNumber;
    at = head;
    do
    :: at != NONE ->
        visit(at, before, heardStable, heardLate);
        d_step { assert(!freed[at]); at = next[at] }
    :: else -> break
    od;
    atomic { assert(heardStable); before = 0; heardStable = false; at = 0 };
    leave(s, own1, own2)
}

#define POSTER_LOCALS byte at; byte before; bool heardStable; bool heardLate

#ifdef NESTING
#define NESTS true
#else
#define NESTS false
#endif

#ifndef WITHOUT_FIRST
proctype FirstPoster() {
    LOCALS;
    POSTER_LOCALS;
    byte innerAt; byte innerBefore; bool innerStable; bool innerLate;
    post(0, at, before, heardStable, heardLate, 0, 1, NESTS);
    threadsEnded++
}
#endif

#ifndef WITHOUT_SECOND
proctype SecondPoster() {
    LOCALS;
    POSTER_LOCALS;
    byte innerAt; byte innerBefore; bool innerStable; bool innerLate;
    bool expectsLate;
    byte round;
    do
    :: round < ROUNDS ->
        round++;
        /* Registered before the post and not cancelled when it ends: reached. */
        expectsLate = registered;
        post(2, at, before, heardStable, heardLate, 2, 2, false);
        assert(!expectsLate || heardLate || ended[2])
    :: else -> break
    od;
    threadsEnded++
}
#endif

/* cancelAndDrain of the first entry. */
proctype Drainer() {
    LOCALS;
    remove(0, NONE, NONE);
#ifndef WITHOUT_DRAIN
    SCAN(waitsFor, waitsForSequence, NONE, NONE);
    if
    :: any ->
        acquire();
        waiting = true;
        announce(others);
        lock = false;
        if
        :: needsBarrier
        :: else -> acquire(); COLLECT(NONE, NONE)
        fi;
        settle(NONE, NONE);
        resumed
    :: else
    fi;
    drained = true;
#endif
    threadsEnded++
}

#ifndef WITHOUT_CHANGER
/* Registers an entry behind the others, and cancels it. */
proctype Changer() {
    LOCALS;
    acquire();
    number[2] = nextNumber;
    d_step { linked[2] = true; next[1] = 2 };
    nextNumber++;
    lock = false;
    registered = true;
#ifndef HOLDER_FORGETS
    if :: hasRetired -> settle(NONE, NONE) :: else fi;
#endif
#ifndef HOLDER_FORGETS
    remove(2, NONE, NONE);
#endif
    threadsEnded++
}
#endif

#ifndef FALLBACK
/* The processors: what was stored is seen by all at some time. */
proctype Memory() {
end:
    do
    :: d_step { clearing[0] -> slot[0] = false; clearing[0] = false }
    :: d_step { clearing[1] -> slot[1] = false; clearing[1] = false }
    :: d_step { clearing[2] -> slot[2] = false; clearing[2] = false }
#ifdef PLAIN_ENTER
    :: d_step { setting[0] -> slot[0] = true; setting[0] = false }
    :: d_step { setting[2] -> slot[2] = true; setting[2] = false }
#endif
    od
}
#endif

#ifdef OTHER_CANCELS
proctype OtherRemover() {
    LOCALS;
    remove(0, NONE, NONE);
    threadsEnded++
}
#endif

/* When all is quiet, nothing taken out has been forgotten. */
#ifdef WITHOUT_FIRST
#define FIRST 0
#else
#define FIRST 1
#endif
#ifdef WITHOUT_SECOND
#define SECOND 0
#else
#define SECOND 1
#endif
#ifdef WITHOUT_CHANGER
#define CHANGER 0
#else
#define CHANGER 1
#endif
#ifdef OTHER_CANCELS
#define REMOVERS 1
#else
#define REMOVERS 0
#endif
#define THREADS (1 + FIRST + SECOND + CHANGER + REMOVERS)

proctype Quiet() {
    byte e;
    atomic {
        threadsEnded == THREADS && !clearing[0] && !clearing[1] && !clearing[2];
        e = 0;
        do
        :: e < ENTRIES -> assert(!ended[e] || freed[e]); e++
        :: else -> break
        od;
        assert(!lock && !waiting && !HAS_CURRENT && !HAS_INCOMING)
    }
}

init {
    atomic {
        linked[0] = true; linked[1] = true;
        next[0] = 1; next[1] = NONE; next[2] = NONE;
        number[0] = 1; number[1] = 2;
#ifndef WITHOUT_FIRST
        run FirstPoster();
#endif
#ifndef WITHOUT_SECOND
        run SecondPoster();
#endif
        run Drainer();
#ifdef OTHER_CANCELS
        run OtherRemover();
#endif
#ifndef WITHOUT_CHANGER
        run Changer();
#endif
#ifndef FALLBACK
        run Memory();
#endif
        run Quiet()
    }
}
