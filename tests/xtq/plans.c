/* Plans of reductions for up to 33 ranks: each contribution enters the result once. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ground/plan.h"

enum { MOST = 33, ELEMENTS = 50 };

static unsigned long held[MOST][ELEMENTS];       /* by rank: the contributions in each element */
static unsigned long sent[MOST][MOST][ELEMENTS]; /* from, to: a message under way */
static int under_way[MOST][MOST];
static struct plan plans[MOST];
static int wrong;

static void expect(int good, const char *what, int size)
{
    if (!good && wrong++ < 20)
        fprintf(stderr, "%d ranks: %s\n", size, what);
}

static void receive(int rank, const struct plan_step *step, int size)
{
    const unsigned long *from = sent[step->peer][rank];

    for (size_t i = step->receive_first; i < step->receive_first + step->receive_count; i++) {
        expect(step->result || !(held[rank][i] & from[i]), "a contribution comes twice", size);
        held[rank][i] = step->result ? from[i] : held[rank][i] | from[i];
    }
    under_way[step->peer][rank] = 0;
}

/* Each rank runs as far as it can; a step's send starts before its receive. */
static void run(int size)
{
    unsigned at[MOST] = {0};
    int has_sent[MOST] = {0}, moved = 1;

    while (moved) {
        moved = 0;
        for (int rank = 0; rank < size; rank++) {
            const struct plan_step *step = &plans[rank].steps[at[rank]];

            if (at[rank] == plans[rank].count)
                continue;
            if (!has_sent[rank] && step->send_count) {
                if (under_way[rank][step->peer])
                    continue;
                memcpy(sent[rank][step->peer], held[rank], sizeof(held[rank]));
                under_way[rank][step->peer] = 1;
            }
            moved |= !has_sent[rank];
            has_sent[rank] = 1;
            if (step->receive_count && !under_way[step->peer][rank])
                continue;
            if (step->receive_count)
                receive(rank, step, size);
            at[rank]++;
            has_sent[rank] = 0;
            moved = 1;
        }
    }
    for (int rank = 0; rank < size; rank++)
        expect(at[rank] == plans[rank].count, "ranks wait for each other", size);
}

static void has(int rank, size_t first, size_t count, unsigned long whose, const char *what, int size)
{
    for (size_t i = first; i < first + count; i++)
        expect(held[rank][i] == whose, what, size);
}

static void check(int size, size_t elements, int root, int which)
{
    const unsigned long all = (1ul << size) - 1;
    size_t first, count, whole = 0;

    for (int rank = 0; rank < size; rank++) {
        for (size_t i = 0; i < ELEMENTS; i++)
            held[rank][i] = 1ul << rank;
        if (which == 0)
            plan_tree(&plans[rank], rank, size, root, elements);
        else if (which == 1)
            plan_cast(&plans[rank], rank, size, root, elements);
        else if (which == 2)
            plan_doubling(&plans[rank], rank, size, elements);
        else
            plan_halving(&plans[rank], rank, size, elements);
    }
    run(size);
    for (int rank = 0; rank < size; rank++) {
        if (which == 1 || which == 2)
            has(rank, 0, elements, which == 1 ? 1ul << root : all, which == 1 ? "cast" : "doubling", size);
        if (plans[rank].part < 0)
            continue;
        plan_part(plans[rank].parts, plans[rank].part, elements, &first, &count);
        has(rank, first, count, all, which == 0 ? "tree" : "halving", size);
        whole += count;
    }
    expect(whole == (which == 0 || which == 3 ? elements : 0), "the parts are not all", size);
}

int main(void)
{
    for (int size = 1; size <= MOST; size++) {
        for (int root = 0; root < size; root++) {
            check(size, ELEMENTS, root, 0);
            check(size, ELEMENTS, root, 1);
        }
        check(size, ELEMENTS, 0, 2);
        check(size, ELEMENTS, 0, 3);
        check(size, 5, 0, 3);
    }
    return wrong != 0;
}
