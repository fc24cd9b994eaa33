/*
 * How an engine goes to sleep and is woken, for spin: the order of reads and writes (engine_device.c and persistent.cl,
 * server.c without its helpers, region_ring()). An initiator publishes a message, then rings if the engine is asleep;
 * the engine announces that it is asleep, then checks a last time. Without the futexes' time-outs, every message is
 * found, and the engine ends when it is told to.
 *
 * LOOK_FIRST, RING_FIRST, NO_LAST_LOOK: with the two steps in the wrong order on either side, or without checking
 * whether it is to stop, the engine sleeps forever.
 */
#ifndef INITIATORS
#define INITIATORS 2
#endif
#ifndef TOTAL
#define TOTAL 2 /* messages of each initiator */
#endif

byte bell[INITIATORS], tail[INITIATORS]; /* positions */
bool asleep, stop;                       /* asleep: the doorbell, a futex; stop: the engine is to end */
bool waits, woken;                       /* the engine waits in the kernel; it has been woken */
byte served, ended;

inline wake()
{
    atomic { if :: waits -> woken = true :: else fi }
}

inline ring_the_bell()
{
    if
    :: asleep ->
        atomic { was = asleep; asleep = false } /* compare and exchange */
        if
        :: was -> was = false; wake()
        :: else
        fi
    :: else
    fi
}

proctype initiator(byte me)
{
    bool was;
    byte i;

    for (i : 1 .. TOTAL) {
#ifdef RING_FIRST
        ring_the_bell();
        bell[me]++
#else
        bell[me]++;
        ring_the_bell()
#endif
    }
    tail[me] == TOTAL; /* xtq_quiet() */
    ended++
}

inline look()
{
    found = false;
    for (from : 0 .. INITIATORS - 1) {
        if
        :: bell[from] != tail[from] -> found = true
        :: else
        fi
    }
    from = 0
}

/* On the host the engine sleeps until it is woken; a kernel that sleeps on the device may wake up at any time. */
inline lie_down(on_device)
{
#ifdef LOOK_FIRST
    look();
    asleep = true;
#else
    asleep = true;
    look();
#endif
    if
#ifdef NO_LAST_LOOK
    :: !found ->
#else
    :: !found && !stop ->
#endif
        /* the kernel compares and sleeps in one step */
        atomic { if :: asleep -> waits = true; woken = false :: else -> woken = true fi }
        if
        :: atomic { woken -> waits = false; woken = false }
        :: atomic { on_device -> waits = false; woken = false }
        fi
    :: else
    fi;
    asleep = false
}

proctype engine()
{
    bool found, leaves;
    byte from;

    do
    :: stop -> break
    :: else ->
        look();
        if
        :: !found -> lie_down(false)
        :: else ->
            do /* on the device */
            ::  look();
                if
                :: found ->
                    for (from : 0 .. INITIATORS - 1) {
                        if
                        :: bell[from] != tail[from] -> served++; tail[from]++
                        :: else
                        fi
                    }
                    from = 0
                :: !found && stop -> break
                :: !found && !stop -> break /* it has been idle for a long time */
                :: !found && !stop -> lie_down(true)
                fi
            od
        fi
    od;
    assert(served == INITIATORS * TOTAL)
}

init
{
    byte i;

    atomic {
        run engine();
        for (i : 0 .. INITIATORS - 1) {
            run initiator(i)
        }
    }
    ended == INITIATORS;
    stop = true;
    asleep = false; /* region_rouse() */
    wake()
}
