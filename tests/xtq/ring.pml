/*
 * The order in which an initiator, the server of a queue, and threads that wait and help the server meanwhile read and
 * write the shared words of a ring (base/ring.h, ground/doze.h, server.c, ground/waiting.c), for spin: `spin -run
 * ring.pml`. Without the time-outs of their sleeps, every message is found, and none is read before it was written or
 * overwritten before it was read. A helper that has polled for long enough naps until it is rung. With QUIET the
 * initiator does not wake the server before it waits itself.
 *
 * A load that only decides whether a compare-and-exchange is worthwhile is one step with it: a thread that has loaded a
 * value which calls for action might as well have come later, and for any other value the exchange would have failed as
 * well. Two helpers that do the same are mirror images, so the first one is the one that begins.
 */
#define SLOTS 2
#ifndef TOTAL
#define TOTAL 3 /* messages */
#endif
#ifndef FIRST
#define FIRST 2 /* how often the first helper helps; SECOND: the second */
#endif
#ifndef SECOND
#define SECOND 0
#endif
#ifndef MOST_NAPS
#define MOST_NAPS 1
#endif

byte slot[SLOTS];     /* the number of the message in the slot */
byte bell, tail;      /* positions, in messages */
byte taken;
mtype = {AWAKE, ASLEEP, HELPED};
mtype asleep = AWAKE; /* the futex */
bool waits, woken;    /* the server waits in the kernel; it has been woken */
bool napping;         /* the helpers' sleep word: a helper sleeps and has not been rung; */
bool lies[2];         /* that helper sleeps, and has not been rung since */
bool parked;
byte helpers;
bool begun;           /* the first helper has begun */
bool serving, again_please;

inline wake_the_server()
{
    d_step { was = (asleep == ASLEEP); asleep = (was -> AWAKE : asleep) }
    if
    :: was -> atomic { was = false; if :: waits -> woken = true :: else fi }
    :: else
    fi
}

inline wake_who_sleeps()
{
    wake_the_server()
}

/* doze_ring(); no step where no helper naps */
inline wake_who_naps()
{
#if MOST_NAPS > 0
    d_step { if :: napping -> napping = false; lies[0] = false; lies[1] = false :: else fi }
#else
    skip
#endif
}

inline ring_the_bell()
{
    bell++;
#ifndef QUIET
    wake_who_sleeps();
#endif
    wake_who_naps()
}

proctype initiator()
{
    bool was;
    byte i;

    for (i : 1 .. TOTAL) {
        if
        :: bell - tail >= SLOTS -> wake_who_sleeps()
        :: else
        fi;
        (bell - tail < SLOTS);
        slot[bell % SLOTS] = i;
        ring_the_bell()
    }
    wake_who_sleeps() /* xtq_quiet() */
}

/* By one thread at a time; another thread leaves a request to check once more, and returns. */
inline poll()
{
    atomic { found = false; second = false }
    do
    ::  atomic { mine = !serving; serving = true }
        if
        :: !mine ->
            again_please = true;
            atomic { mine = !serving; serving = true }
            if
            :: !mine -> break
            :: else
            fi
        :: else
        fi
        again_please = false;
        if
        :: tail != bell -> /* a batch of one */
            atomic { assert(slot[tail % SLOTS] == tail + 1); taken++; tail++; found = true }
        :: else
        fi
        atomic { serving = false; mine = false }
        if
        :: !again_please -> break
        :: else ->
            if
            :: second ->
                wake_the_server();
#ifndef FORGET
                wake_who_naps();
#endif
                break
            :: else -> second = true
            fi
        fi
    od;
    atomic { mine = false; second = false } /* fewer states */
}

proctype server()
{
    bool found, mine, was, second;
    mtype value;

    do
    ::  if
        :: helpers == 0 -> poll()
        :: else
        fi
        parked = true;
        atomic { asleep = HELPED; value = HELPED }
        if
        :: helpers == 0 ->
            atomic { asleep = ASLEEP; value = ASLEEP }
            poll();
            if
            :: found -> parked = false; atomic { asleep = AWAKE; value = AWAKE; goto again }
            :: else
            fi
        :: else -> wake_who_naps()
        fi
        /* the kernel compares and sleeps in one step */
        atomic { if :: asleep == value -> waits = true; woken = false :: else -> goto awake fi }
end_asleep:
        atomic { woken -> waits = false; woken = false }
awake:  atomic { parked = false; value = AWAKE }
again:  found = false
    od
}

/* doze_lie_down(), and the kernel's comparison. ONE_BIT: the sleep word does not count how often it was rung. */
inline lie_down()
{
    atomic { napping = true; lies[me] = true }
}

inline may_go_on()
{
#ifdef ONE_BIT
    !napping
#else
    !lies[me]
#endif
}

proctype helper(byte me, rounds)
{
    bool found, mine, was, second;
    byte left, naps;

    do
    :: rounds > 0 ->
        rounds--;
        atomic { (me == 0 || begun || FIRST != SECOND); helpers++; begun = true }
        d_step { if :: asleep == ASLEEP -> asleep = HELPED :: else fi }
        poll();
        do
        :: break
        :: MOST_NAPS > 0 && naps < MOST_NAPS ->
            naps++;
#ifndef DOZE
            lie_down();
            poll();
#else
            poll();
            lie_down();
#endif
            if
            :: found -> atomic { found = false; lies[me] = false }
            :: else ->
end_napping:    may_go_on()
            fi
        od;
        atomic { helpers--; left = helpers; found = false; naps = 0 }
        if
        :: left == 0 && parked ->
            asleep = ASLEEP;
            poll();
            if
            :: found -> wake_the_server(); found = false
            :: else
            fi
        :: else
        fi;
        left = 0
    :: rounds == 0 -> break
    od
}

init {
    atomic { run initiator(); run server(); run helper(0, FIRST); run helper(1, SECOND) }
    timeout -> assert(taken == TOTAL)
}
