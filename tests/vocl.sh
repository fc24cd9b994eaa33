#!/bin/sh
# The `vocl` command: the program's own status, signals and input; its environment; refusals.
. "$(dirname "$0")/lib.sh"
need_foreign_programs

# status WANTED ARGUMENT...: what `vocl ARGUMENT...` has to end with.
status()
{
    wanted=$1
    shift
    actual=$(status_of vocl "$@")
    [ "$actual" = "$wanted" ] || fail "vocl $*: status $actual, not $wanted"
}

# says TEXT ARGUMENT...: what a refusal has to mention.
says()
{
    text=$1
    shift
    vocl "$@" > "$scratch/output" 2>&1
    grep -qF -e "$text" "$scratch/output" || { cat "$scratch/output"; fail "vocl $*: no word of $text"; }
}

# environment WANTED ARGUMENT...: lines that the program's environment has to hold.
environment()
{
    wanted=$1
    shift
    vocl run "$@" -- env > "$scratch/output" || fail "vocl run $* -- env failed"
    grep -qxF -e "$wanted" "$scratch/output" || { cat "$scratch/output"; fail "vocl run $*: no $wanted"; }
}

lacks()
{
    unwanted=$1
    shift
    vocl run "$@" -- env > "$scratch/output" || fail "vocl run $* -- env failed"
    ! grep "^$unwanted=" "$scratch/output" || fail "vocl run $*: sets $unwanted"
}

status 0 --version
status 0 --help
status 0 run --help
status 2
status 2 nonsense
status 2 run
status 2 run --workers
status 2 run --workers 0 -- true
status 2 run --workers 2x -- true
status 2 run --workers -1 -- true
status 2 run --hosts '' -- true
status 2 run --hosts a,,b -- true
status 2 run --workers 2 --hosts a -- true
status 2 run --door window -- true
status 2 run --mpi other -- true
status 2 run --nonsense -- true
status 2 devices --door icd
status 2 devices extra
says '"2x"' run --workers 2x -- true
says --nonsense run --nonsense -- true
says "vocl --help" run

# The program is itself, not a child.
status 0 run -- true
status 0 run true
status 7 run -- sh -c 'exit 7'
status 143 run -- sh -c 'kill -TERM $$'
status 127 run -- /nonexistent/program
status 126 run -- "$top_srcdir"
[ "$(echo input | vocl run -- cat)" = input ] || fail "stdin is not the program's"
[ "$(sh -c 'echo $$; exec vocl run -- sh -c "echo \$\$"' | uniq | wc -l)" = 1 ] || fail "the program is a child"
[ "$(vocl run -- printf '%s|' -a 'b c' --)" = '-a|b c|--|' ] || fail "the program's arguments changed"

library=$(sed 's,.*/,,' "$VOCL_LIBEXECDIR/vendors/vocl.icd") # by its soname
others=${LD_PRELOAD:+:$LD_PRELOAD} # a sanitizer build has one
unset OCL_ICD_VENDORS VOCL_LOG VOCL_WORKERS VOCL_HOSTS VOCL_MPI
environment "LD_PRELOAD=$VOCL_LIBEXECDIR/$library$others"
environment "OCL_ICD_VENDORS=$VOCL_LIBEXECDIR/vendors"
environment VOCL_NATIVE_ICD_VENDORS=
environment VOCL_LOG=error
environment VOCL_WORKERS=3 --workers 3
environment VOCL_HOSTS=a,b --hosts=a,b
environment VOCL_MPI=openmpi --mpi openmpi
lacks OCL_ICD_VENDORS --door preload
[ -n "$others" ] || lacks LD_PRELOAD --door icd
lacks VOCL_WORKERS
VOCL_HOSTS=a lacks VOCL_HOSTS --workers 2
VOCL_LOG=debug environment VOCL_LOG=debug
[ -n "$others" ] ||
    LD_PRELOAD=libm.so.6 environment "LD_PRELOAD=$VOCL_LIBEXECDIR/$library:libm.so.6"
OCL_ICD_VENDORS=/elsewhere environment VOCL_NATIVE_ICD_VENDORS=/elsewhere

# One inside another changes nothing more.
vocl run -- env | sort > "$scratch/once"
vocl run -- vocl run -- env | sort > "$scratch/twice"
cmp "$scratch/once" "$scratch/twice" || fail "vocl run inside vocl run changes the environment"

# Half an installation is an error, not a native run.
VOCL_LIBEXECDIR=$scratch status 125 run -- true
