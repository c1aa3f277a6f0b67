/* Tasks that wait for the messages of a sequence whose buffer has no bound. Two readers, of which the first may be cancelled; the channel
 * may go.
 *
 *   here             in Sources/Channels/Engine
 *   Reader           MessageSequence.Iterator.next, SequenceBuffer.waitForMore          (Sequences)
 *   take             SequenceBuffer.take, SequenceMailbox.takeFirst, .refill            (Lanes)
 *   look             SequenceMailbox.hasWaiting
 *   sleep            SequenceMailbox.waitForMore
 *   Poster           SequenceMailbox.enqueue
 *   Canceller        the handler of SequenceMailbox.waitForMore
 *   Closer           ListenerList.close, SequenceMailbox.didEnd
 *
 * Left out: `gather`, which only looks again before it sleeps; the order of waiting readers (any may be woken). A reader may stop after any
 * message. A reader that was taken out of those that wait is resumed in the same step. Memory: sequentially consistent; whether a reader waits
 * is read and written under `lock`, as the messages are.
 *
 * Asserted: no message is lost or taken twice; nobody sleeps while a message waits, or once the channel has gone, or once it was cancelled.
 *
 * Planted faults:
 * -DTWO_LOOKS       a reader looks at what was taken and at what came in two sections before it sleeps, and before it hands on
 * -DNO_HAND_ON      a reader that was woken and then cancelled does not wake another
 * -DNO_SECOND_LOOK  a reader sleeps without looking under the lock
 * -DWAKES_FIRST     a post wakes a reader in a section before the one that puts its message in
 */
#define READERS 2
#define MESSAGES 2

byte incoming; byte batch; byte posted; byte taken;
bool lock; bool readLock;
bool isBusy; bool isClosed;
bool waits[READERS];            /* in the list of readers; guarded by lock */
bool woken[READERS];            /* the continuation was resumed */
bool asleep[READERS];
bool isCancelled[READERS];
bool hasStopped[READERS];

inline acquire(l) { atomic { !l -> l = true } }

/* Called under the lock. */
inline wake(r) { d_step { if :: waits[r] -> waits[r] = false; woken[r] = true :: else fi } }

/* The reader that waited longest: here, any. Called under the lock. */
inline wakeOne() {
    if
    :: atomic { waits[0] -> waits[0] = false; woken[0] = true }
    :: atomic { waits[1] -> waits[1] = false; woken[1] = true }
    :: atomic { !waits[0] && !waits[1] -> skip }
    fi
}

inline look(found) {
#ifdef TWO_LOOKS
    acquire(readLock); found = batch > 0; readLock = false;
    if :: !found -> acquire(lock); found = incoming > 0; lock = false :: else fi
#else
    acquire(readLock);
    found = batch > 0;
    if :: !found -> acquire(lock); found = incoming > 0; lock = false :: else fi;
    readLock = false
#endif
}

inline take(found) {
    found = false;
    if
    :: isBusy && !isCancelled[me] ->
        acquire(readLock);
        if
        :: batch == 0 ->
            acquire(lock);
            d_step { if :: incoming == 0 -> isBusy = false :: else -> batch = incoming; incoming = 0 fi };
            lock = false
        :: else
        fi;
        d_step { if :: batch > 0 -> batch--; taken++; found = true :: else fi };
        readLock = false
    :: else
    fi
}

proctype Reader(byte me) {
    bool found;
again:
    take(found);
    if
    :: found ->
        found = false;
        /* Goes on at once, or is busy with it for ever. */
        if
        :: goto again
        :: goto stop
        fi
    :: else
    fi;
    /* waitForMore */
    if
    :: isCancelled[me] ->
#ifndef NO_HAND_ON
        look(found);
        if :: found -> acquire(lock); wakeOne(); lock = false :: else fi;
#endif
        goto stop
    :: isClosed && !isCancelled[me] -> take(found); goto stop
    :: else
    fi;
    /* sleep: both locks are held, because the other reader may be moving messages. */
#ifdef TWO_LOOKS
    acquire(readLock); found = batch > 0; readLock = false;
    acquire(lock);
#else
    acquire(readLock); found = batch > 0; acquire(lock);
#endif
#ifndef NO_SECOND_LOOK
    found = found || incoming > 0 || isClosed || isCancelled[me];
#else
    found = false;
#endif
    d_step { if :: !found -> waits[me] = true; asleep[me] = true :: else fi };
    lock = false;
#ifndef TWO_LOOKS
    readLock = false;
#endif
    if
    :: found -> found = false; goto awake
    :: else
    fi;
endAsleep:
    woken[me];
    d_step { woken[me] = false; asleep[me] = false };
awake:
    if
    :: isCancelled[me] ->
        look(found);
        if :: found -> acquire(lock); wakeOne(); lock = false :: else fi;
        goto stop
    :: else -> goto again
    fi;
stop:
    found = false;
    hasStopped[me] = true
}

proctype Poster() {
    bool hasReader;
    do
    :: posted < MESSAGES ->
        acquire(lock);
#ifdef WAKES_FIRST
        wakeOne();
        lock = false;
        acquire(lock);
#endif
        d_step { incoming++; posted++; isBusy = true; hasReader = waits[0] || waits[1] };
        lock = false;
#ifndef WAKES_FIRST
        if :: hasReader -> acquire(lock); wakeOne(); lock = false :: else fi
#endif
    :: else -> break
    od
}

proctype Canceller() {
    if
    :: isCancelled[0] = true; acquire(lock); wake(0); lock = false
    :: skip
    fi
}

/* The channel goes when the posts have ended. */
proctype Closer() {
    if
    :: skip
    :: posted == MESSAGES;
        isClosed = true;
        acquire(lock); wake(0); wake(1); lock = false
    fi
}

proctype Quiet() {
    timeout;
    assert(taken + batch + incoming == posted);
    /* Nobody sleeps while something waits, nor when nothing more will come. */
    assert(!(asleep[0] || asleep[1]) || (batch + incoming == 0 && !isClosed));
    assert(!asleep[0] || !isCancelled[0])
}

init {
    atomic { run Reader(0); run Reader(1); run Poster(); run Canceller(); run Closer(); run Quiet() }
}
