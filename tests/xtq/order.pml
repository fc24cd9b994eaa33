/*
 * Operations of several ranks on one element of a window, some carried by XTQ and some by MPI (mpi/rma/accumulate.c),
 * for spin. Each carrier does a rank's operations in order and one at a time, but neither carrier knows the other's.
 * Epochs begin and end with fences, and in an epoch one carrier carries all operations. Then no operation is lost,
 * those of one rank are done in order, and none before those of an earlier epoch.
 *
 * EACH_BY_ITSELF: each operation is carried by either; with ATOMIC, too, only the order breaks, and with one operation
 * of each rank an addition is lost. NO_WAIT: the fence does not wait for this rank's puts. NO_MEETING: ranks continue
 * when MPI's fence ends.
 */
#ifndef RANKS
#define RANKS 2
#endif
#ifndef EPOCHS
#define EPOCHS 2
#endif
#ifndef EACH
#define EACH 2 /* operations of a rank in an epoch */
#endif
#define TARGET 0 /* the rank with the element */

/* By initiator: epochs of operations under way, and how many of them are not over. */
chan puts[RANKS] = [EACH * EPOCHS] of { byte, byte }; /* epoch, number */
chan mpis[RANKS] = [EACH * EPOCHS] of { byte, byte };
byte put_left[RANKS], mpi_left;
byte left[EPOCHS]; /* of both carriers */
byte value;        /* the element: each operation adds one */
byte done[RANKS];  /* operations done, by initiator */
bool by_mpi[EPOCHS];
byte entered[EPOCHS], met[EPOCHS], ended;

/* An operation reads the element and then writes it. */
inline operate(epoch)
{
    for (before : 0 .. EPOCHS - 1) {
        assert(before >= epoch || left[before] == 0)
    }
#ifdef ATOMIC
    value++;
#else
    read = value;
    value = read + 1;
#endif
    assert(done[who] == number);
    done[who]++;
    read = 0;
    before = 0
}

proctype xtq()
{
    byte who, epoch, number, read, before;

end:
    do
    ::  select(who : 0 .. RANKS - 1);
        if
        :: puts[who] ? epoch, number ->
            operate(epoch);
            atomic { left[epoch]--; put_left[who]--; epoch = 0; number = 0 }
        :: empty(puts[who])
        fi
    od
}

proctype mpi()
{
    byte who, epoch, number, read, before;

end:
    do
    ::  select(who : 0 .. RANKS - 1);
        if
        :: mpis[who] ? epoch, number ->
            operate(epoch);
            atomic { left[epoch]--; mpi_left--; epoch = 0; number = 0 }
        :: empty(mpis[who])
        fi
    od
}

inline issue(me, epoch)
{
    atomic {
        left[epoch]++;
#ifdef EACH_BY_ITSELF
        if
        :: put_left[me]++; puts[me] ! epoch, issued
        :: mpi_left++; mpis[me] ! epoch, issued
        fi
#else
        if
        :: by_mpi[epoch] -> mpi_left++; mpis[me] ! epoch, issued
        :: else -> put_left[me]++; puts[me] ! epoch, issued
        fi
#endif
    }
}

/* MPI's fence ends at an initiator when all ranks have entered, and at the target when MPI's own operations there are
 * complete. */
inline fence(me, epoch)
{
#ifndef NO_WAIT
    put_left[me] == 0;
#endif
    entered[epoch]++;
    entered[epoch] == RANKS;
    (me != TARGET || mpi_left == 0);
#ifndef NO_MEETING
    met[epoch]++;
    met[epoch] == RANKS
#endif
}

proctype rank(byte me)
{
    byte epoch, i, issued;

    for (epoch : 0 .. EPOCHS - 1) {
        for (i : 1 .. EACH) {
            issue(me, epoch);
            issued++
        }
        fence(me, epoch)
    }
    ended++
}

init
{
    byte i;

    atomic {
        for (i : 0 .. EPOCHS - 1) {
            if
            :: by_mpi[i] = true
            :: by_mpi[i] = false
            fi
        }
        run xtq();
        run mpi();
        for (i : 0 .. RANKS - 1) {
            run rank(i)
        }
    }
    ended == RANKS;
    (left[0] == 0 && left[EPOCHS - 1] == 0);
    assert(value == RANKS * EACH * EPOCHS)
}
