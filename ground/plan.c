/* See plan.h. */
#include "ground/plan.h"

static struct plan_step *add(struct plan *p, int peer)
{
    struct plan_step *step = &p->steps[p->count++];

    *step = (struct plan_step){.peer = peer};
    return step;
}

static void add_send(struct plan *p, int peer, size_t elements)
{
    add(p, peer)->send_count = elements;
}

static struct plan_step *add_receive(struct plan *p, int peer, size_t elements)
{
    struct plan_step *step = add(p, peer);

    step->receive_count = elements;
    return step;
}

static void begin(struct plan *p, int parts)
{
    p->count = 0;
    p->parts = parts;
    p->part = -1;
}

/* ---- trees: the root is number 0; a number's parent lacks its lowest bit ---- */

void plan_tree(struct plan *p, int rank, int size, int root, size_t elements)
{
    const int number = (rank - root + size) % size;
    int bit = 1;

    begin(p, 1);
    for (; bit < size && !(number & bit); bit <<= 1) {
        if (number + bit < size)
            add_receive(p, (number + bit + root) % size, elements);
    }
    if (number)
        add_send(p, (number - bit + root) % size, elements);
    else
        p->part = 0;
}

void plan_cast(struct plan *p, int rank, int size, int root, size_t elements)
{
    const int number = (rank - root + size) % size;
    int bit = 1;

    begin(p, 0);
    while (bit < size && !(number & bit))
        bit <<= 1;
    if (number)
        add_receive(p, (number - bit + root) % size, elements)->result = true;
    while ((bit >>= 1)) {
        if (number + bit < size)
            add_send(p, (number + bit + root) % size, elements);
    }
}

/* ---- among a power of two ranks: the other ranks first send their elements to their neighbours ---- */

static int largest_power(int size)
{
    int power = 1;

    while (power <= size / 2)
        power *= 2;
    return power;
}

/* Of the first 2 * extra ranks only the odd ones stay. Returns the number of this rank among those that stay, or -1. */
static int fold(struct plan *p, int rank, int extra, size_t elements)
{
    if (rank >= 2 * extra)
        return rank - extra;
    if (rank % 2 == 0) {
        add_send(p, rank + 1, elements);
        return -1;
    }
    add_receive(p, rank - 1, elements);
    return rank / 2;
}

static int rank_of(int number, int extra)
{
    return number < extra ? number * 2 + 1 : number + extra;
}

void plan_doubling(struct plan *p, int rank, int size, size_t elements)
{
    const int power = largest_power(size), extra = size - power;
    int number;

    begin(p, 0);
    number = fold(p, rank, extra, elements);
    for (int bit = 1; bit < power && number >= 0; bit <<= 1)
        add_receive(p, rank_of(number ^ bit, extra), elements)->send_count = elements;
    if (number < 0)
        add_receive(p, rank + 1, elements)->result = true;
    else if (rank < 2 * extra)
        add_send(p, rank - 1, elements);
}

/* Returns the elements that are left to the rank of that number after halving steps down to `bit`. */
static void segment(size_t elements, int number, int power, int bit, size_t *first, size_t *left)
{
    *first = 0;
    *left = elements;
    for (int half = power / 2; half >= bit && half; half /= 2) {
        const size_t lower = (*left + 1) / 2;

        *first += number & half ? lower : 0;
        *left = number & half ? *left - lower : lower;
    }
}

void plan_halving(struct plan *p, int rank, int size, size_t elements)
{
    const int power = largest_power(size), extra = size - power;
    int number;

    begin(p, power);
    number = fold(p, rank, extra, elements);
    for (int half = power / 2; half && number >= 0; half /= 2) {
        struct plan_step *step = add(p, rank_of(number ^ half, extra));

        segment(elements, number, power, half, &step->receive_first, &step->receive_count);
        segment(elements, number ^ half, power, half, &step->send_first, &step->send_count);
    }
    p->part = number;
}

void plan_part(int parts, int part, size_t elements, size_t *first, size_t *count)
{
    segment(elements, part, parts, 1, first, count);
}
