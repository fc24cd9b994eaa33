/*
 * Put, then notify, for spin: an initiator writes data and then a signal, and looks whether the target sleeps; the
 * target announces that it sleeps, checks once more, and sleeps unless it has been woken (ground/doze.h,
 * waiting_step(), and ground_ring() in kernels). No time-outs: every signal is seen, and the data are there when it is.
 * The data of a put are overwritten only after the target has confirmed that it has read them.
 *
 * -DLATE_DATA: the signal goes before the data; -DLATE_SLEEPER: the target announces its sleep after its last check.
 * Spin finds both.
 */
#ifndef PUTS
#define PUTS 3
#endif

byte data;             /* the number of the last put */
byte signal_word;      /* how many puts were signalled */
byte bell;             /* a sleep word (ground/doze.h): how often it was rung, and whether since the last sleeper
                        * began */
bool sleepers;
bool in_futex, woken;
byte got, read_words;  /* read_words: the signal that goes back */

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

proctype initiator()
{
    byte i;
    bool rang;

    for (i : 1 .. PUTS) {
        (read_words == i - 1);
#ifdef LATE_DATA
        signal_word = i;
        data = i;
#else
        data = i;
        signal_word = i;
#endif
        ring_bell()
    }
}

proctype target()
{
    byte heard;

    do
    :: got == PUTS -> break
    :: else ->
        if
        :: signal_word > got ->
            assert(data == got + 1);
            got++;
            read_words = got
        :: else ->
#ifdef LATE_SLEEPER
            heard = bell;
            if
            :: signal_word > got -> goto again
            :: else
            fi;
            sleepers = true;
#else
            atomic { sleepers = true; heard = bell }
            if
            :: signal_word > got -> goto again
            :: else
            fi;
#endif
            /* the kernel compares and sleeps in one step */
            atomic { if :: bell == heard && sleepers -> in_futex = true; woken = false :: else -> goto awake fi }
            atomic { woken -> in_futex = false }
awake:
again:      skip
        fi
    od
}

init {
    atomic { run initiator(); run target() }
    timeout -> assert(got == PUTS)
}
