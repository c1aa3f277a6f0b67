/* How the listeners of a channel are read without a lock, changed under one, and freed.
 *
 * One channel, two posting threads (the first of which may post inside a listener), a thread that cancels and drains entry 0, one that
 * registers entry 2 and cancels it, one that closes the list. Entry 1 stays until then.
 *
 *   here                            in Sources/Channels/Engine
 *   enter, leave                    ListenerList.enter, .leave                     (Listeners/ListenerList+Reclaim)
 *   post, visit                     ListenerList.post, .deliverToListeners         (Delivery/ListenerList+Post, +Deliver)
 *   remove, unlink, Changer         remove, takeOut, unlink; insert, link          (Listeners/ListenerList+Remove, +Add, +Links)
 *   Closer                          close                                          (Listeners/ListenerList+Remove)
 *   SCAN                            HazardUse.uses(by:of:)                         (Hazards/HazardUse)
 *   HAS_ENDED                       HazardUse.hasEnded                             (Hazards/HazardUse)
 *   retire, freeUnlessUsed          HazardDomain.waitsBehindOthers, .freeUnlessUsed                    (Hazards/HazardDomain)
 *   look, didUnlock                 collectAfterUse, collectIfAsked; didUnlock     (Hazards/HazardDomain, Listeners/ListenerList)
 *   collectBody, unlockAndFree      collect(waitsForLock:), free                   (Hazards/HazardDomain)
 *   Drainer                         ListenerToken.cancelAndWait, waitForUses
 *   Timer                           the looks that are repeated while somebody waits, or a closed list has something retired
 *
 * There is no barrier when a post ends. So a post may read `hasRetired` before others see that it has ended: it ends without notice, and
 * what waits for it stays. It is freed by the next post that ends, or by the next change. Where none may come, the Timer looks again.
 *
 * Memory. Everything is sequentially consistent, as the code asks for by its orderings, but for a slot: the store that clears it may be
 * delayed past the load of `hasRetired` that follows. Each slot has a buffer for that store, which drains at any time, and before the next
 * exchange of its thread. The lock is taken and given up in one step each: its users order themselves by `mustCollect`.
 *
 * Asserted: nothing is read or called after it was freed; nothing is freed twice or while linked; a post calls each listener that is there
 * all the time once, and one registered before it; no call of entry 0 runs or begins once cancelAndWait has returned, and it returns; once
 * all posts have ended, something is left only if one of them has ended without notice; one more post or change then frees it, and in a
 * closed list nothing is left.
 *
 * That cancelAndWait returns, and that a closed list is emptied, is checked like this: once all posts have ended and every store has been
 * seen, the Timer looks once, and that must do. Before that, it looks any number of times with -DLOOKS_EARLY, and otherwise never.
 *
 * -DNESTING             the first thread posts inside entry 1
 * -DOTHER_CANCELS       another thread cancels entry 0, too
 * -DCLOSES              the list is closed at any time
 * -DLOOKS_EARLY         the Timer looks while posts are under way, too
 * -DONE_GROUP           both posting threads are of one group (`ThreadRecord.group`)
 * -DWITHOUT_FIRST, -DWITHOUT_SECOND, -DWITHOUT_CHANGER, -DWITHOUT_DRAIN (entry 0 is cancelled only), -DROUNDS=n (posts of the second thread)
 * Planted faults:
 * -DPLAIN_ENTER         the slot is set by a store, which may be seen late, instead of an exchange
 * -DNO_SCAN             an entry is freed without looking at the slots
 * -DBIT_LATE            a post says that its group posts here only after it has read the chain
 * -DNO_RETRY            who finds the lock taken leaves no word for its holder
 * -DHOLDER_FORGETS      who has collected does not look for that word
 * -DONE_GENERATION      what is retired later is freed with what was retired before
 * -DFREES_NEWEST        what is retired while older entries wait is freed before them
 * -DNO_SECOND_LOOK      nobody looks again for cancelAndWait
 * -DNO_LOOK_AT_CLOSE    nobody looks again for a closed list
 * -DNO_LOOK_AT_CHANGE   who changes the list does not collect
 * -DTWO_REMOVERS        an entry's removal is not claimed by one atomic step: with -DOTHER_CANCELS
 */
#ifdef NESTING
#define SLOTS 3                 /* of the posters: one of each thread, and one more of the first */
#else
#define SLOTS 2
#endif
#define ENTRIES 3               /* 0 and 1 are there from the start, 2 is registered later */
#define NONE 7
#ifndef ROUNDS
#define ROUNDS 1
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
bool posters[2];                /* the bit of a slot's thread in `readers`; that of GROUP(s) counts */
#ifdef ONE_GROUP
#define GROUP(s) 0
#else
#define GROUP(s) (s % 2)
#endif

bool lock;
bool hasRetired;
bool mustCollect;

/* Guarded by the lock. */
bool isClosed;
bool current[ENTRIES];
bool incoming[ENTRIES];
bool underWay[SLOTS];
byte underWaySequence[SLOTS];
bool collectsLater;                /* the Timer has been started */
/* cancelAndWait: what it waits for, and whether it has been resumed. */
bool waiting;
bool resumed;
bool waitsFor[SLOTS];
byte waitsForSequence[SLOTS];
bool drained;                   /* cancelAndWait of entry 0 has returned */
bool registered;                /* entry 2 is in, and its registration has returned */
bool unnoticed;                 /* a post has ended without notice */
byte threadsEnded;
byte postersEnded;

#define HAS_CURRENT (current[0] || current[1] || current[2])
#define HAS_INCOMING (incoming[0] || incoming[1] || incoming[2])
#define HAS_ENDED(s, q) (!slot[s] || sequence[s] != (q))
#ifdef NESTING
#define ALL_ENDED(set, q) \
    ((!set[0] || HAS_ENDED(0, q[0])) && (!set[1] || HAS_ENDED(1, q[1])) && (!set[2] || HAS_ENDED(2, q[2])))
#else
#define ALL_ENDED(set, q) ((!set[0] || HAS_ENDED(0, q[0])) && (!set[1] || HAS_ENDED(1, q[1])))
#endif

inline acquire() { atomic { !lock -> lock = true } }

/* The groups are read first, then slot by slot. */
#define SCAN_SLOT(s, set, q) \
    if :: groups[s % 2] && slot[s] -> set[s] = true; q[s] = sequence[s]; any = true :: else -> set[s] = false; q[s] = 0 fi
#define SCAN(set, q) \
    d_step { groups[0] = posters[GROUP(0)]; groups[1] = posters[GROUP(1)]; any = false }; \
    d_step { SCAN_SLOT(0, set, q) }; \
    SCAN_INNER(set, q) \
    d_step { SCAN_SLOT(1, set, q); groups[0] = false; groups[1] = false }
#ifdef NESTING
#define SCAN_INNER(set, q) d_step { SCAN_SLOT(2, set, q) };
#else
#define SCAN_INNER(set, q)
#endif

#define FORGET(set, q) i = 0; do :: i < SLOTS -> set[i] = false; q[i] = 0; i++ :: else -> break od; i = 0

/* Under the lock: what is retired while others wait waits behind them. For the rest, freeUnlessUsed follows, without the lock. */
inline retire(e) {
    if
#ifdef FREES_NEWEST
    :: HAS_CURRENT -> going[e] = true
#else
    :: HAS_CURRENT -> incoming[e] = true
#endif
    :: else -> mine[e] = true
    fi
}

#define HAS_MINE (mine[0] || mine[1] || mine[2])
#define FORGET_MINE mine[0] = false; mine[1] = false; mine[2] = false; FORGET(used, usedSequence)

/* Without the lock: looks for the posts that may see what was taken out, which only this thread has now. */
inline freeUnlessUsed() {
    if
    :: HAS_MINE ->
        SCAN(used, usedSequence);
#ifdef NO_SCAN
        any = false;
#endif
        if
        :: any ->
            any = false;
            acquire();
            d_step {
                i = 0;
                if
                :: HAS_CURRENT -> do :: i < ENTRIES -> incoming[i] = incoming[i] || mine[i]; i++ :: else -> break od
                :: else ->
                    do :: i < ENTRIES -> current[i] = mine[i]; i++ :: else -> break od;
                    i = 0;
                    do
                    :: i < SLOTS -> underWay[i] = used[i]; underWaySequence[i] = usedSequence[i]; i++
                    :: else -> break
                    od
                fi;
                FORGET_MINE
            };
            hasRetired = true;
            lock = false
        :: else ->
            d_step {
                i = 0;
                do
                :: i < ENTRIES -> if :: mine[i] -> assert(!freed[i] && !linked[i]); freed[i] = true :: else fi; i++
                :: else -> break
                od;
                FORGET_MINE
            }
        fi
    :: else
    fi
}

/* Takes entry e out and retires it; then what withLock and takeOut do. */
inline remove(e) {
#ifdef TWO_REMOVERS
    old = ended[e];
    ended[e] = true;
#else
    atomic { old = ended[e]; ended[e] = true };
#endif
    if
    :: !old ->
        atomic { !lock -> lock = true; unlink(e); retire(e) };
        unlockAndFree();
        freeUnlessUsed();
        didUnlock()
    :: else
    fi;
    old = false
}

/* An entry that has been taken out keeps its `next`. */
inline unlink(e) {
    d_step {
        assert(!retiredOnce[e]); retiredOnce[e] = true;
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

/* Under the lock; `going` is what to free without it, `mine` what to look for without it. */
inline collectBody() {
    if
    :: HAS_CURRENT && ALL_ENDED(underWay, underWaySequence) ->
        d_step {
            i = 0;
            do
            :: i < ENTRIES ->
                if :: current[i] -> going[i] = true :: else fi;
#ifdef ONE_GENERATION
                if :: incoming[i] -> going[i] = true :: else fi;
#else
                if :: incoming[i] -> mine[i] = true :: else fi;
#endif
                current[i] = false;
                incoming[i] = false;
                i++
            :: else -> break
            od;
            i = 0;
            FORGET(underWay, underWaySequence)
        }
    :: else
    fi;
    if
    :: atomic { waiting && ALL_ENDED(waitsFor, waitsForSequence) -> waiting = false; wakes = true; d_step { FORGET(waitsFor, waitsForSequence) } }
    :: else
    fi;
    d_step {
        if :: !HAS_CURRENT && !waiting && !HAS_MINE -> hasRetired = false :: else fi;
        collectsLater = false;
#ifndef NO_SECOND_LOOK
        if :: waiting -> collectsLater = true :: else fi;
#endif
#ifndef NO_LOOK_AT_CLOSE
        if :: isClosed && HAS_CURRENT -> collectsLater = true :: else fi;
#endif
    }
}

/* Without the lock closures are freed, and tasks resumed: at once, which is when it is most dangerous. */
inline unlockAndFree() {
    d_step {
        lock = false;
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

#define DRAIN_SLOT(s) \
    if \
    :: s != NONE -> if :: clearing[s % SLOTS] -> slot[s % SLOTS] = false; clearing[s % SLOTS] = false :: else fi \
    :: else \
    fi

/* Collects, or has the holder of the lock do it: until there is no word left by another. It begins with an exchange, before which what this
 * thread stored is seen. `own1` and `own2` are its slots. */
inline look(own1, own2) {
    d_step {
        DRAIN_SLOT(own1);
        DRAIN_SLOT(own2);
        mustCollect = true
    };
    do
    :: atomic { mustCollect -> mustCollect = false };
        do
        :: tries < 2 ->
            if
            :: atomic { !lock -> lock = true };
                collectBody();
                unlockAndFree();
                if :: HAS_MINE -> freeUnlessUsed(); mustCollect = true :: else fi;
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
#ifdef HOLDER_FORGETS
        break
#else
        /* The holder of the lock does the rest. */
        if :: tries == 2 -> break :: else -> tries = 0 fi
#endif
    :: atomic { !mustCollect -> break }
    od;
    tries = 0
}

/* After each change. */
inline didUnlock() {
#ifndef NO_LOOK_AT_CHANGE
    if :: hasRetired -> look(NONE, NONE) :: else fi
#else
    skip
#endif
}

#define LOCALS byte i; byte tries; bool any; bool wakes; bool old; bool going[ENTRIES]; bool mine[ENTRIES]; \
    bool used[SLOTS]; byte usedSequence[SLOTS]; bool groups[SLOTS]

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
    d_step { setting[s] = false; clearing[s] = true };
    if
    :: hasRetired -> look(own1, own2)
    :: d_step { !hasRetired -> if :: clearing[s] -> unnoticed = true :: else fi }
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
        :: isOuter && at == 1 -> post2(2, innerAt, innerBefore, innerStable, innerLate, own1, own2)
        :: else
        fi;
        d_step { assert(!freed[at]); at = next[at] }
    :: else -> break
    od;
    atomic { assert(heardStable || isClosed); before = 0; heardStable = false; at = 0 };
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
    atomic { assert(heardStable || isClosed); before = 0; heardStable = false; at = 0 };
    leave(s, own1, own2)
}

#define POSTER_LOCALS byte at; byte before; bool heardStable; bool heardLate; byte innerAt; byte innerBefore; bool innerStable; bool innerLate

#ifdef NESTING
#define NESTS true
#define INNER 2
#else
#define NESTS false
#define INNER NONE
#endif

#ifndef WITHOUT_FIRST
proctype FirstPoster() {
    LOCALS;
    POSTER_LOCALS;
    post(0, at, before, heardStable, heardLate, 0, INNER, NESTS);
    atomic { heardLate = false; threadsEnded++; postersEnded++ }
}
#endif

#ifndef WITHOUT_SECOND
proctype SecondPoster() {
    LOCALS;
    POSTER_LOCALS;
    bool expectsLate;
    byte round;
    do
    :: round < ROUNDS ->
        round++;
        /* Registered before the post and not cancelled when it ends: reached. */
        expectsLate = registered;
        post(1, at, before, heardStable, heardLate, 1, NONE, false);
        assert(!expectsLate || heardLate || ended[2])
    :: else -> break
    od;
    atomic { heardLate = false; expectsLate = false; threadsEnded++; postersEnded++ }
}
#endif

/* cancelAndWait of the first entry. */
proctype Drainer() {
    LOCALS;
    remove(0);
#ifndef WITHOUT_DRAIN
    SCAN(waitsFor, waitsForSequence);
    if
    :: any ->
        any = false;
        atomic { !lock -> lock = true; waiting = true; hasRetired = true };
        lock = false;
        look(NONE, NONE);
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
    atomic { !lock -> lock = true; number[2] = nextNumber };
    if
    :: isClosed -> lock = false
    :: else ->
        d_step { linked[2] = true; next[1] = 2 };
        nextNumber++;
        d_step { lock = false; registered = true };
        didUnlock();
        remove(2)
    fi;
    threadsEnded++
}
#endif

/* Ends every listener. One that has ended is being taken out by the thread that ended it. */
#ifdef CLOSES
proctype Closer() {
    LOCALS;
    byte e;
    acquire();
    isClosed = true;
    do
    :: e < ENTRIES ->
        if
        :: linked[e] ->
            atomic { old = ended[e]; ended[e] = true };
            if
            :: !old -> unlink(e); retire(e)
            :: else -> old = false
            fi
        :: else
        fi;
        e++
    :: else -> break
    od;
    unlockAndFree();
    freeUnlessUsed();
    didUnlock();
    threadsEnded++
}
#endif

#ifdef OTHER_CANCELS
proctype OtherRemover() {
    LOCALS;
    remove(0);
    threadsEnded++
}
#endif

/* The processors: what was stored is seen by all at some time. */
proctype Memory() {
endMemory:
    do
    :: d_step { clearing[0] -> slot[0] = false; clearing[0] = false }
    :: d_step { clearing[1] -> slot[1] = false; clearing[1] = false }
#ifdef NESTING
    :: d_step { clearing[2] -> slot[2] = false; clearing[2] = false }
#endif
#ifdef PLAIN_ENTER
    :: d_step { setting[0] -> slot[0] = true; setting[0] = false }
    :: d_step { setting[1] -> slot[1] = true; setting[1] = false }
#endif
    od
}

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
#ifdef CLOSES
#define CLOSERS 1
#else
#define CLOSERS 0
#endif
#define THREADS (1 + FIRST + SECOND + CHANGER + REMOVERS + CLOSERS)
#ifdef NESTING
#define POSTS_HAVE_ENDED (postersEnded == FIRST + SECOND && !clearing[0] && !clearing[1] && !clearing[2])
#else
#define POSTS_HAVE_ENDED (postersEnded == FIRST + SECOND && !clearing[0] && !clearing[1])
#endif

/* Looks after a while, and again after that, as long as there is a reason to. */
proctype Timer() {
    LOCALS;
    bool isLast;
endTimer:
    do
#ifdef LOOKS_EARLY
    :: atomic { collectsLater && !isLast -> isLast = POSTS_HAVE_ENDED }; look(NONE, NONE)
#else
    :: atomic { collectsLater && POSTS_HAVE_ENDED && !isLast -> isLast = true }; look(NONE, NONE)
#endif
    od
}

/* When all is quiet: what is left, and that one more post or change frees it. */
proctype Later() {
    LOCALS;
    POSTER_LOCALS;
    timeout;
    assert(threadsEnded == THREADS && !lock && !waiting && !collectsLater);
    assert(unnoticed && !isClosed || !HAS_CURRENT && !HAS_INCOMING && !hasRetired);
    if
    :: isClosed
    :: !isClosed -> post(1, at, before, heardStable, heardLate, 1, NONE, false)
    :: !isClosed -> acquire(); lock = false; didUnlock()
    fi;
    atomic {
        i = 0;
        do
        :: i < ENTRIES -> assert(!ended[i] || freed[i]); i++
        :: else -> break
        od;
        assert(!lock && !HAS_CURRENT && !HAS_INCOMING && !hasRetired)
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
#ifdef CLOSES
        run Closer();
#endif
        run Memory();
        run Timer();
        run Later()
    }
}
