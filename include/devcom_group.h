/* Part of devcom.h: groups of ranks. */
#ifndef VOCL_DEVCOM_GROUP_H
#define VOCL_DEVCOM_GROUP_H

#include <devcom_collective.h>

#ifdef __cplusplus
extern "C" {
#endif

#ifdef __GNUC__
#pragma GCC visibility push(default)
#endif

/* ---- groups of ranks (GASPI: gaspi_group; section 4.2.5) ---- */

/*
 * Some ranks, whose collectives concern no other rank. Different groups may have collectives at the same time, also in
 * several threads; those of one group are called by all members in the same order, and by one thread at a time.
 */
struct devcom_group;

/*
 * Creates an empty group. Local.
 *
 * number  a number that is the same on all members, below devcom_options.groups. Groups that have a rank in common have
 *         different numbers as long as they exist. A number may be used again when all ranks that have committed it
 * have deleted their group, and the ranks know that (for example after devcom_barrier()) out     receives the group
 *
 * Returns 0; -EINVAL: no such number; -EBUSY: the number has a group, or a commit of it has failed; -ENOMEM.
 */
int devcom_group_create(struct devcom *d, unsigned number, struct devcom_group **out);
/*
 * Adds a rank to a group that has not been committed. Local. The order does not matter.
 *
 * Returns 0; -EINVAL: no such rank, it is in the group, or devcom_group_commit() has been called.
 */
int devcom_group_add(struct devcom_group *group, int rank);
/*
 * Makes the collectives of a group usable. Collective among the ranks of the group.
 *
 * timeout_us  the time-out
 *
 * Returns 0; -ETIMEDOUT: the same call resumes the commit; -EINVAL: this rank is not in the group, the group has been
 * committed or has failed, or a rank of the group has committed a different list of ranks under the number;
 * -ECONNRESET: a rank of the group is lost; -ECANCELED: a member has deleted the group before all had agreed; -ENOMEM.
 * If a commit fails on one member it fails on all that have not returned, and the number cannot be used again.
 */
int devcom_group_commit(struct devcom_group *group, long timeout_us);
/* Returns the number of ranks of a group; -EINVAL if group is NULL. */
int devcom_group_size(const struct devcom_group *group);
/* Returns the rank of a member, which is counted from 0 in the order of ranks; -EINVAL if there is no such member. */
int devcom_group_rank(const struct devcom_group *group, int member);
/*
 * Deletes a group. Local. Its collectives must have ended on this rank. Groups must be deleted before
 * devcom_finalize().
 *
 * Returns 0.
 */
int devcom_group_delete(struct devcom_group *group);

/*
 * The collectives of devcom_barrier(), devcom_broadcast(), devcom_allreduce() and devcom_reduce() among the members of
 * a group.
 *
 * root  a rank as everywhere else, not the number of a member
 *
 * The other arguments are those of these functions. Return 0 or an error as these; -EINVAL also if the group has not
 * been committed, or root is not in it. -ECONNRESET: a member is lost; the loss of other ranks ends no collective of a
 * group.
 */
int devcom_group_barrier(struct devcom_group *group, long timeout_us);
int devcom_group_broadcast(struct devcom_group *group, int root, unsigned segment, size_t offset, size_t bytes,
                           long timeout_us);
int devcom_group_allreduce(struct devcom_group *group, unsigned segment, size_t offset, size_t count,
                           enum devcom_type type, enum devcom_op op, enum devcom_method method, long timeout_us);
int devcom_group_reduce(struct devcom_group *group, int root, unsigned segment, size_t offset, size_t count,
                        enum devcom_type type, enum devcom_op op, enum devcom_method method, long timeout_us);

#ifdef __GNUC__
#pragma GCC visibility pop
#endif

#ifdef __cplusplus
}
#endif

#endif
