/*
 * How ranks find out together that nothing is under way any more, though tasks may put (xtq/barrier.c), for spin. Each
 * rank puts arbitrarily, and then counts with the others until the number sent is the number that had completed at
 * their previous barrier.
 */
#ifndef RANKS
#define RANKS 2
#endif
#ifndef MOST
#define MOST 4 /* messages in total */
#endif

chan lanes[RANKS] = [MOST] of { byte }; /* by target: the senders */
byte sent[RANKS], completed[RANKS];     /* as the initiator knows them */
byte made, under_way;

/* For two alternating rounds: the ranks that have entered, and their sums. */
byte come[2], all_sent[2], all_completed[2];

inline put(me)
{
    if
    :: made < MOST ->
        made++;
        under_way++;
        sent[me]++; /* under the sender's lock */
        select(target : 0 .. RANKS - 1);
        lanes[target] ! me
    :: made >= MOST
    fi
}

proctype server(byte me)
{
    byte target, from;

end:
    do
    :: lanes[me] ? from ->
        do
        :: atomic { put(me) }
        :: break
        od;
        atomic { completed[from]++; under_way-- }
    od
}

proctype rank(byte me)
{
    byte target, before, mine_sent, mine_completed, round;
    bool quiet;

    do
    :: atomic { put(me) }
    :: break
    od;
    do
    :: quiet -> break
    :: else ->
        sent[me] == completed[me]; /* xtq_quiet() */
        mine_completed = completed[me];
        mine_sent = sent[me];
        atomic {
            all_sent[round] = all_sent[round] + mine_sent;
            all_completed[round] = all_completed[round] + mine_completed;
            come[round]++;
            if
            :: come[round] == RANKS -> /* all ranks have read the other round */
                come[1 - round] = 0;
                all_sent[1 - round] = 0;
                all_completed[1 - round] = 0
            :: else
            fi
        }
        come[round] == RANKS;
#ifdef ONE_ROUND
        quiet = (all_sent[round] == all_completed[round]);
#else
        quiet = (all_sent[round] == before);
#endif
        before = all_completed[round];
        round = 1 - round
    od;
    assert(under_way == 0)
}

init
{
    byte i;

    atomic {
        for (i : 0 .. RANKS - 1) {
            run server(i);
            run rank(i)
        }
    }
}
