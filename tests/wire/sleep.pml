/*
 * Two sides of a ring that send each other frames and sleep, for spin: the order of their reads and writes
 * (transport/shm/sleep.c, sleep.c; client/core/stream.c for a batch that waits until all frames before it have been
 * taken; session.c for the lock, which a sleeping thread has released). There are no time-outs here: all frames arrive,
 * and both sides end, also if one is killed at any point, and its frames are taken.
 *
 * LOOK_FIRST: a sleeper checks before it sets asleep. RING_FIRST: a sender reads asleep before it writes the frame.
 * WANT_LAST: a waiter reads taken before it sets wanted. FRAMES_ONLY: the last check before sleep is for frames only,
 * and not whether its own have been taken. TELL_NOBODY: a side that takes frames does not ring for that. With any of
 * these, a side sleeps forever.
 */
#ifndef FRAMES
#define FRAMES 2
#endif
#define OTHER (1 - me)

byte sent[2], taken[2], wanted[2]; /* frames of each side; wanted: 1 more than what is waited for, or 0 */
bool asleep[2];
bool waits[2];  /* a batch is to be sent when the frames before it have been taken */
byte added[2];  /* how often the program has added a command */
bool lock[2], bell[2];   /* a byte is in the socket of each side */
bool dead[2], ended[2];

inline wake()
{
    atomic { was = asleep[OTHER]; asleep[OTHER] = false }; /* exchange */
    if
    :: was -> was = false; bell[OTHER] = true
    :: else
    fi
}

inline send()
{
    waits[me] = false;
#ifdef RING_FIRST
    if
    :: asleep[OTHER] -> wake()
    :: else
    fi;
    sent[me]++
#else
    sent[me]++;
    if
    :: asleep[OTHER] -> wake()
    :: else
    fi
#endif
}

inline advance()
{
    if
    :: !waits[me]
    :: waits[me] ->
#ifdef WANT_LAST
        drained = (taken[OTHER] == sent[me]);
        wanted[me] = sent[me] + 1;
#else
        wanted[me] = sent[me] + 1;
        drained = (taken[OTHER] == sent[me]);
#endif
        if
        :: drained -> send()
        :: else
        fi
    fi
}

inline take()
{
    found = false;
    do
    :: taken[me] < sent[OTHER] -> found = true; taken[me]++
    :: else -> break
    od
}

inline poll()
{
    take();
    advance()
}

/* A thread of the program that does not wait for replies. */
proctype program(bool me)
{
    bool was, drained;

    { do
    :: added[me] == FRAMES -> break
    :: else ->
        atomic { !lock[me] -> lock[me] = true };
        added[me]++;
        waits[me] = true;
        advance();
        lock[me] = false
    od } unless { dead[me] }
}

#define SAID(who) (added[who] == FRAMES && !waits[who] && taken[1 - who] == sent[who])
#define ALL_DONE (SAID(me) && SAID(OTHER))

proctype leader(bool me)
{
    bool was, drained, found, gone;
    byte told;

    { atomic { !lock[me] -> lock[me] = true };
    do
    :: ALL_DONE || gone -> break
    :: else ->
        gone = ended[OTHER]; /* the socket has closed: frames sent before that are still taken */
        poll();
        if
        :: found || gone
        :: else ->
#ifdef LOOK_FIRST
            poll();
#endif
            asleep[me] = true;
            if
            :: told != taken[me] ->
                told = taken[me];
#ifndef TELL_NOBODY
                if
                :: wanted[OTHER] == told + 1 && asleep[OTHER] -> wake()
                :: else
                fi
#endif
            :: else
            fi;
#ifdef FRAMES_ONLY
            take();
#endif
#if !defined(LOOK_FIRST) && !defined(FRAMES_ONLY)
            poll();
#endif
            if
            :: found
            :: else ->
                lock[me] = false;
                (bell[me] || ended[OTHER] || ALL_DONE); /* the program's wait is over, or it continues */
                atomic { !lock[me] -> lock[me] = true };
                bell[me] = false
            fi;
            asleep[me] = false
        fi
    od;
    lock[me] = false;
    if
    :: gone -> assert(taken[me] == sent[OTHER])
    :: else
    fi;
    ended[me] = true } unless { dead[me] }
}

init
{
    atomic {
        run leader(0);
        run leader(1);
        run program(0);
        run program(1)
    }
#ifdef DEATH
    if /* at any moment */
    :: atomic { !ended[1] -> dead[1] = true; ended[1] = true }
    :: ended[1]
    fi
#endif
}
