/* Tasks that call an async listener with what waits in its mailbox. Two posters, READERS tasks at most; somebody cancels on the closure's
 * isolation, somebody elsewhere cancels and drains, somebody ends the listener and waits until all is delivered.
 *
 *   here             in Sources/Channels/Engine
 *   Poster           ListenerList.deliverByRoute, SequenceMailbox.enqueue, .offer, .finish
 *   Reader           AsyncCalls.read, .callNext, .takeAndCall, SequenceMailbox.takeForCall, .endCall
 *   Call             the task of a call under .replace
 *   readerEnds       SequenceMailbox.endReader
 *   discard          SequenceMailbox.didEnd
 *   freeBody         SequenceMailbox.didFreeBody
 *   Leaver           ListenerList.free, SequenceMailbox.didLeaveList
 *   Canceller, Drainer, Finisher    ListenerToken.cancel, .cancelAndWait, .finish
 *
 * Left out: owners, turns (a reader that continues in another task), envelopes, `.ignore` (a message is only admitted less often). When no post
 * sees the listener is what the model listener-list shows; here, its posts are counted. Memory: sequentially consistent.
 *
 * -DREADERS=2  .concurrent(2)
 * -DREPLACE    .replace, with one reader: a call ends once it is cancelled, or no message can replace it
 * -DONCE       the listener hears one message
 *
 * Asserted: no message is lost or stranded, and each is accounted for; no more calls run than may; the closure is freed once, and not while a
 * reader may call it; no call begins on its isolation after `cancel` has returned there, or anywhere after a drain; whoever waits is resumed, and
 * not too early. A replaced call is cancelled.
 *
 * Planted faults:
 * -DTWO_SECTIONS     a reader finds nothing in one section and is counted out in another
 * -DCOUNTS_LATE      whoever starts a reader counts it after the section in which its message was put in
 * -DFREES_UNREAD     who leaves the list frees the closure if nothing waits, though a reader is left
 * -DFREES_SETTLED    the end of a call frees the closure if nothing waits, though another reader is left
 * -DANY_CALL         the end of any call resumes those who wait for all
 * -DLOOKS_UNLOCKED   who waits for calls looks in one section and adds itself in another
 * -DOFF_TURN         a message is taken before the turn on the isolation in which the call begins
 * -DNO_LOOK          the task of a call does not look whether the listener was cancelled
 * -DNO_LATE_CANCEL   a call that was replaced before its task was known is not cancelled
 */
#ifndef READERS
#define READERS 1
#endif
#define MESSAGES 3
#ifdef NO_LOOK
#define MAY_CALL true
#else
#define MAY_CALL !isCancelled
#endif
#ifdef ANY_CALL
#define IS_LAST true
#else
#define IS_LAST (calling == 0)
#endif

byte incoming; byte calling; byte readers;
byte posted; byte delivered; byte dropped; byte discarded;
byte postsToCome = MESSAGES;
byte starts;                    /* readers that were started and have not begun */
byte running;                   /* calls whose closure runs */
byte freed;
bool lock;
bool turn;                      /* whether somebody has the closure's isolation */
bool isCancelled; bool isClosed; bool isUnlinked; bool isDead; bool hasLeft;
byte posts;                     /* in progress, which may see the listener */
bool hasCancelled;              /* cancel has returned on the isolation */
bool hasDrained; bool hasFinished;
bool waitsForCalls; bool waitsForEnd;
bool calls; bool ends;          /* the continuations were resumed */
#ifdef REPLACE
bool isKnown; bool isReplaced; bool isAsked;
bool begins; bool returned;
#endif

inline acquire(l) { atomic { !l -> l = true } }

/* Once, by whoever has found that it is to be freed. */
inline freeBody() {
    assert(freed == 0 && running == 0);
    acquire(lock);
    d_step { freed++; if :: waitsForEnd -> waitsForEnd = false; woken = true :: else fi };
    lock = false;
    d_step { if :: woken -> ends = true; woken = false :: else fi }
}

/* Under the lock. */
inline readerEnds() {
    readers--;
    if
    :: readers == 0 && hasLeft && incoming + calling == 0 -> isDead = true; unused = true
    :: else
    fi
}

/* Under the lock. */
inline replace() {
#ifdef REPLACE
    isReplaced = true;
    if :: isKnown -> isAsked = true :: else fi
#else
    skip
#endif
}

inline discard() {
    acquire(lock);
    d_step { discarded = discarded + incoming; incoming = 0; isDead = true; replace() };
    lock = false
}

proctype Poster(byte count) {
    bool sees; bool isStarting;
    do
    :: count > 0 ->
        count--;
        d_step { posts++; sees = !isUnlinked };
        if
        :: sees ->
#ifdef ONCE
            d_step { sees = !isCancelled && !isClosed; isClosed = true };
#else
            sees = !isCancelled && !isClosed;
#endif
        :: else
        fi;
        if
        :: sees ->
            acquire(lock);
            d_step {
                if
                :: isCancelled || isDead
                :: else ->
                    posted++;
                    replace();
#ifdef REPLACE
                    if :: incoming == 1 -> incoming = 0; dropped++; sees = false :: else fi;
#endif
                    incoming++;
                    if
                    :: sees && readers < READERS ->
                        isStarting = true;
#ifndef COUNTS_LATE
                        readers++
#endif
                    :: else
                    fi
                fi
            };
            lock = false;
            if
            :: isStarting ->
#ifdef COUNTS_LATE
                acquire(lock); readers++; lock = false;
#endif
                d_step { isStarting = false; starts++ }
            :: else
            fi
        :: else
        fi;
        d_step { sees = false; posts--; postsToCome-- }
    :: else -> break
    od
}

inline begin() {
    d_step {
        assert(freed == 0 && !hasCancelled && !hasDrained && !hasFinished);
        delivered++;
        running++;
        assert(running <= READERS)
    }
}

proctype Reader() {
    bool unused; bool woken; bool goesOn;
endIdle:
    atomic { starts > 0 -> starts-- };
next:
#ifndef OFF_TURN
    acquire(turn);
#endif
    acquire(lock);
    if
    :: incoming > 0 ->
        d_step {
            incoming--; calling++;
#ifdef REPLACE
            isReplaced = false
#endif
        };
        lock = false
    :: else ->
        d_step { readerEnds() };
        lock = false;
        if :: unused -> unused = false; freeBody() :: else fi;
        turn = false;
        goto endIdle
    fi;
#ifdef OFF_TURN
    acquire(turn);
#endif
#ifdef REPLACE
    begins = true;
    /* The reader has a task for the call, which it now makes known. */
    acquire(lock);
    d_step {
        isKnown = true;
#ifndef NO_LATE_CANCEL
        if :: isReplaced -> isAsked = true :: else fi
#endif
    };
    lock = false;
    turn = false;
    d_step { returned -> returned = false };
#else
    begin();
    turn = false;
    assert(freed == 0);
    running--;
#endif
    acquire(turn);
    acquire(lock);
    d_step {
        calling--;
#ifdef REPLACE
        isKnown = false; isAsked = false;
#endif
        if
        :: waitsForCalls && IS_LAST -> waitsForCalls = false; woken = true
        :: else
        fi;
        goesOn = incoming > 0;
#ifdef TWO_SECTIONS
    };
    lock = false;
    acquire(lock);
    d_step {
#endif
        if
        :: goesOn
        :: else -> readerEnds()
        fi;
#ifdef FREES_SETTLED
        if :: incoming + calling == 0 && hasLeft -> unused = true :: else fi
#endif
    };
    lock = false;
    d_step { if :: woken -> calls = true; woken = false :: else fi };
    if :: unused -> unused = false; freeBody() :: else fi;
    turn = false;
    if
    :: goesOn -> goesOn = false; goto next
    :: else -> goto endIdle
    fi
}

#ifdef REPLACE
proctype Call() {
endNone:
    atomic { begins -> begins = false };
    acquire(turn);
    if
#ifndef NO_LOOK
    :: isCancelled -> discarded++; turn = false
#endif
    :: MAY_CALL ->
        begin();
        turn = false;
        isAsked || postsToCome == 0 && incoming == 0 && !isCancelled;
        assert(freed == 0);
        running--
    fi;
    returned = true;
    goto endNone
}
#endif

/* Who sets the first bit takes the listener out of its list. */
inline end(reason) {
    d_step { isFirst = !isCancelled && !isClosed; reason = true };
    if :: isFirst -> isUnlinked = true :: else fi
}

/* One that was heard once is taken out by the post. */
proctype Leaver() {
    bool unused; bool woken;
#ifdef ONCE
endNever:
    atomic { isClosed || isCancelled -> isUnlinked = true };
#else
endNever:
    isUnlinked;
#endif
    posts == 0;
    acquire(lock);
    d_step {
        hasLeft = true;
        if
        :: incoming + calling == 0 ->
            isDead = true;
#ifdef FREES_UNREAD
            unused = true
#else
            unused = readers == 0
#endif
        :: else
        fi
    };
    lock = false;
    if :: unused -> freeBody() :: else fi
}

proctype Canceller() {
    bool isFirst;
    if
    :: skip
    :: acquire(turn);
        end(isCancelled);
        discard();
        hasCancelled = true;
        turn = false
    fi
}

proctype Drainer() {
    bool isFirst; bool waits;
    if
    :: skip
    :: end(isCancelled);
        discard();
        posts == 0;
        acquire(lock);
#ifdef LOOKS_UNLOCKED
        waits = calling > 0; lock = false; acquire(lock);
        if :: waits -> waitsForCalls = true :: else fi;
#else
        d_step { waits = calling > 0; if :: waits -> waitsForCalls = true :: else fi };
#endif
        lock = false;
        if :: waits -> calls :: else fi;
        d_step { assert(calling == 0 && running == 0); hasDrained = true }
    fi
}

proctype Finisher() {
    bool isFirst; bool waits;
    if
    :: skip
    :: end(isClosed);
        posts == 0;
        acquire(lock);
        d_step { waits = freed == 0; if :: waits -> waitsForEnd = true :: else fi };
        lock = false;
        if :: waits -> ends :: else fi;
        d_step { assert(incoming == 0 && running == 0 && freed == 1); hasFinished = true }
    fi
}

proctype Quiet() {
    timeout;
    assert(postsToCome == 0 && posts == 0);
    assert(incoming == 0 && calling == 0 && running == 0 && readers == 0);
    assert(posted == delivered + dropped + discarded);
    assert(!(isCancelled || isClosed) || freed == 1);
    assert(!waitsForCalls && !waitsForEnd)
}

init {
    atomic {
        run Poster(2); run Poster(1); run Reader();
#if READERS == 2 || defined COUNTS_LATE
        run Reader();
#endif
#ifdef REPLACE
        run Call();
#endif
        run Leaver(); run Canceller(); run Drainer(); run Finisher(); run Quiet()
    }
}
