/*
 * The queue that a device's kernels fill and a thread of the host drains, for spin (vocl_dev.cl: devcom_post(),
 * devcom_run_put(); endpoint.c: drain(), endpoint_sleep()): work-groups take the lock to write a command; a direct
 * store bypasses the queue only when the queue is empty. No command is lost, overwritten or run twice, the host never
 * sleeps while one waits, and a work-group's direct store is never seen before its queued commands have been done.
 *
 * -DNO_LOCK: work-groups write without the lock; -DOVERTAKE: the store does not look at the queue. Spin finds both.
 */
#define DEPTH 2
#define GROUPS 2
#ifndef EACH
#define EACH 2 /* commands of each work-group */
#endif

byte slot[DEPTH], head, tail;
bool lock;
byte bell;             /* a sleep word, see put_notify.pml */
bool sleepers;
bool in_futex, woken;
byte done[GROUPS + 1]; /* by group: commands that the host has done */
byte ended;

inline ring_bell()
{
    if
    :: sleepers -> /* doze_ring() */
        atomic { if :: sleepers -> sleepers = false; bell++; rang = true :: else fi }
        if
        :: rang -> atomic { rang = false; if :: in_futex -> woken = true :: else fi }
        :: else
        fi
    :: else
    fi
}

proctype group(byte me)
{
    byte i, at;
    bool direct, rang;

    for (i : 1 .. EACH) {
#ifndef NO_LOCK
        atomic { !lock -> lock = true }
#endif
        at = head;
        (at - tail < DEPTH);
        slot[at % DEPTH] = me;
        head = at + 1;
#ifndef NO_LOCK
        lock = false;
#endif
        ring_bell()
    }
#ifdef OVERTAKE
    direct = true;
#else
    direct = (head == tail);
#endif
    if
    :: direct -> assert(done[me] == EACH) /* the store */
    :: else
    fi;
    ended++
}

proctype host()
{
    byte heard, upto, i;

    do
    ::  upto = head;
        if
        :: tail != upto ->
            i = tail;
            do
            :: i != upto ->
                assert(slot[i % DEPTH] != 0);
                done[slot[i % DEPTH]]++;
                slot[i % DEPTH] = 0;
                i++
            :: else -> break
            od;
            tail = upto
        :: else ->
            atomic { sleepers = true; heard = bell }
            if
            :: head != tail -> goto again
            :: else
            fi;
            atomic { if :: bell == heard && sleepers -> in_futex = true; woken = false :: else -> goto awake fi }
end_asleep: atomic { woken -> in_futex = false }
awake:
again:      skip
        fi
    od
}

init {
    atomic { run group(1); run group(2); run host() }
    timeout -> assert(ended == GROUPS && done[1] == EACH && done[2] == EACH)
}
