/* How the threads that use the library are found by whoever frees something, while threads come and go.
 *
 * The records of one group of threads are a chain. A thread takes a record, one whose thread has ended if there is one, links it at the head,
 * uses what is shared, and unlinks its record when it ends. A canceller makes what is shared unreachable, walks the chain without a lock, and
 * frees it unless it meets a use.
 *
 *   here                            in Sources/Channels/Engine/Hazards
 *   take, link                      ThreadRecords.take, .link
 *   giveBack, unlink                ThreadRecords.giveBack, .unlink
 *   Canceller                       HazardDomain.freeUnlessUsed, HazardUse.uses, ThreadRecords.scan
 *   use                             HazardDomain.announceUse, .withdrawUse
 *
 * A record that is unlinked keeps its `next`, so a walk that is at it goes on; one that is linked again leads to the head of then, so the walk
 * meets some records twice. Memory is sequentially consistent. The lock's sections are steps one after the other, but for what a walk reads.
 *
 * Asserted: nothing is read after it was freed; the chain holds the records of threads that have one, and each of them once.
 *
 * -DTHREE               three threads at a time; -DROUNDS=n: how many come one after the other
 * Planted faults:
 * -DCLEARS_NEXT         a record that is unlinked leads nowhere
 * -DKEEPS_NEXT          a record that is linked again leads where it led before
 * -DCLEARS_BIT          the group counts as empty when any of its threads ends
 * -DLATE_BIT            a group counts as empty until its first thread has begun to use what is shared
 */
#define RECORDS 3
#define NONE 7
#ifndef ROUNDS
#define ROUNDS 2
#endif

byte head = NONE;
byte next[RECORDS];
byte previous[RECORDS];
bool linked[RECORDS];
bool isOccupied;                /* the bit of the group */
bool lock;
bool isSpare[RECORDS];
byte made;

bool inUse[RECORDS];            /* the slot of the thread */
bool isReachable = true;
bool freed;
byte threadsEnded;

/* Only what a walk reads is a step of its own. */
inline link(r) {
    d_step {
        previous[r] = NONE;
        if :: head != NONE -> previous[head] = r :: else fi;
#ifdef KEEPS_NEXT
        if :: next[r] == NONE -> next[r] = head :: else fi;
#else
        next[r] = head;
#endif
        linked[r] = true
    };
    head = r;
#ifndef LATE_BIT
    isOccupied = true
#endif
}

inline unlink(r) {
    d_step {
        linked[r] = false;
        if :: next[r] != NONE -> previous[next[r]] = previous[r] :: else fi;
        if :: previous[r] != NONE -> next[previous[r]] = next[r] :: else -> head = next[r] fi
    };
#ifdef CLEARS_BIT
    isOccupied = false;
#else
    if :: head == NONE -> isOccupied = false :: else fi;
#endif
#ifdef CLEARS_NEXT
    next[r] = NONE
#endif
}

inline take(r) {
    atomic {
        !lock -> lock = true;
        if
        :: isSpare[0] -> r = 0
        :: isSpare[1] -> r = 1
        :: isSpare[2] -> r = 2
        :: !isSpare[0] && !isSpare[1] && !isSpare[2] -> r = made; made++; next[r] = NONE
        fi;
        isSpare[r] = false
    };
    link(r);
    lock = false
}

inline giveBack(r) {
    atomic { !lock -> lock = true };
    unlink(r);
    d_step { isSpare[r] = true; lock = false; r = 0 }
}

inline use(r) {
    inUse[r] = true;
    if
    :: atomic { isReachable -> assert(!freed) };
#ifdef LATE_BIT
        isOccupied = true;
#endif
        assert(!freed)
    :: !isReachable
    fi;
    inUse[r] = false
}

/* Threads, one after the other. */
proctype Thread() {
    byte r;
    byte round;
    do
    :: round < ROUNDS ->
        round++;
        take(r);
        use(r);
        giveBack(r)
    :: else -> break
    od;
    threadsEnded++
}

proctype Canceller() {
    byte at;
    byte steps;
    bool isUsed;
    isReachable = false;
    if
    :: isOccupied ->
        at = head;
        do
        :: at != NONE ->
            /* Each step back to the head takes a thread that has come meanwhile. */
            steps++;
            assert(steps <= RECORDS * (3 * ROUNDS + 1));
            if :: inUse[at] -> isUsed = true; break :: else fi;
            at = next[at]
        :: else -> break
        od
    :: else
    fi;
    if :: !isUsed -> freed = true :: else fi;
    threadsEnded++
}

/* When all is quiet. */
proctype Later() {
    timeout;
#ifdef THREE
    threadsEnded--;
#endif
    assert(threadsEnded == 3 && !lock && head == NONE && !isOccupied);
    assert(!linked[0] && !linked[1] && !linked[2])
}

init {
    atomic {
        run Thread();
        run Thread();
#ifdef THREE
        run Thread();
#endif
        run Canceller();
        run Later()
    }
}
