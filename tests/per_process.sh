#!/bin/sh
# Static variables of the client are per process (client/core/per_process.h), or listed here, with the function that
# resets them in the child of a fork, or the reason why none has to.
. "$(dirname "$0")/lib.sh"
command -v objdump > /dev/null || skip "there is no objdump"
allowed="
arena               arena_after_fork()
blocks              arena_after_fork()
lock                exchange.c: exchange_after_fork()
regions             exchange.c: the child has a copy
copies              exchange.c: exchange_after_fork()
all                 hostptr.c: hostptr_after_fork()
walkers             halt_after_fork()
svm_remotes         what the parent had, to which the child's pointers lead
numbers             of these, never the same
hint.0              where there may be room
begins              counts only
pools               objects of the parent, which the child may still name
slabs               of these
slab_total          of these
handle_slots        of these
dispatch            the same in each
kinds               the same in each
begun               the copy
said.0              what has been said
local               knows its process
stopped.0           goes with local
current             start.c sets it; sites.c: sites_again()
sites               what was found stays true
count               sites.c: the same
exiting             the child of one that exits does, too
watched.0           who watches forks goes with them
"
for object in $(find "$top_builddir/client" -name '*.o'); do
    source=$(echo "${object#"$top_builddir"/}" | sed 's,\.libs/,,; s,\.o$,.c,; s,client_[a-z]*_la-,,; s,libvocl_client_la-,,')
    [ -e "$top_srcdir/$source" ] || continue # the source does not exist any more
    objdump -t "$object" | awk -v source="$source" '/ O \.(data|bss)/ && !/ O \.data\.rel\.ro/ { print source, $NF }'
done | sort -u > "$scratch/found"
[ -s "$scratch/found" ] || fail "no objects in $top_builddir/client"
echo "$allowed" | awk 'NF { print $1 }' > "$scratch/allowed"
awk 'NR == FNR { allowed[$1]; next } !($2 in allowed)' "$scratch/allowed" "$scratch/found" > "$scratch/others"
[ ! -s "$scratch/others" ] || fail "static variables that a fork's child has from its parent: $(cat "$scratch/others")"
awk 'NR == FNR { found[$2]; next } !($1 in found)' "$scratch/found" "$scratch/allowed" > "$scratch/old"
[ ! -s "$scratch/old" ] || fail "there is no such variable any more: $(cat "$scratch/old")"
