#!/bin/sh
# The `vocl` command passes on the program's status, signals and input, sets its environment, and refuses wrong
# arguments.
. "$(dirname "$0")/lib.sh"
need python3 python3
need_foreign_programs

# status WANTED ARGUMENT...: `vocl ARGUMENT...` has to end with this status.
status()
{
    wanted=$1
    shift
    actual=$(status_of vocl "$@")
    [ "$actual" = "$wanted" ] || fail "vocl $*: status $actual, not $wanted"
}

# says TEXT ARGUMENT...: the refusal has to contain TEXT.
says()
{
    text=$1
    shift
    vocl "$@" > "$scratch/output" 2>&1
    grep -qF -e "$text" "$scratch/output" || { cat "$scratch/output"; fail "vocl $*: no word of $text"; }
}

# environment WANTED ARGUMENT...: the program's environment has to have these lines.
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
status 2 run --interpose window -- true
status 2 run --mpi other -- true
status 2 run --nonsense -- true
status 2 devices --interpose icd
status 2 devices extra
says '"2x"' run --workers 2x -- true
says --nonsense run --nonsense -- true
says "vocl run --help" run
says "vocl devices --help" devices extra
says "vocl move --help" move

# An option without its value does not take the next word as one.
cd "$scratch" || exit
status 2 run --trace -- true
[ ! -e -- ] || fail "--trace made a file --"
says '--trace needs a value' run --trace -- true
says '--to needs a value' move --to --
cd "$OLDPWD" || exit

# Help under each of its names, and versions
status 0 -V
status 0 help
status 2 help run devices
for command in run devices sessions move suspend resume checkpoint trace explain doctor topo; do
    vocl help $command > "$scratch/help" || fail "vocl help $command"
    vocl $command --help > "$scratch/option" || fail "vocl $command --help"
    cmp "$scratch/help" "$scratch/option" || fail "vocl help $command is not vocl $command --help"
    grep -q '^usage: vocl '"$command" "$scratch/help" || fail "vocl help $command: $(cat "$scratch/help")"
done
# Every option that a command lists is accepted: the command does not call it unknown.
for command in run devices doctor; do
    for option in $(vocl $command --help | grep -oE '^  (-[a-zA-Z], )?(   )?(   )?--[a-z]+' | grep -oE -e '--[a-z]+' | sort -u); do
        vocl $command $option --nonsense > "$scratch/output" 2>&1
        grep -q -e "unknown option $option\|belongs to" "$scratch/output" && fail "vocl $command $option: $(cat "$scratch/output")"
    done
done

# `vocl run` becomes the program, and has no child.
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
environment VOCL_POOL_WEIGHT=7 --weight 7 --pool a:1
environment VOCL_POOL_WEIGHT=7 --share 7 --pool a:1

# Hosts: ranges, and files of them
environment VOCL_HOSTS=n1,n2,n3,n7,m --hosts 'n[1-3,7],m'
environment VOCL_HOSTS=u@n08x,u@n09x,u@n10x --hosts 'u@n[08-10]x'
environment 'VOCL_HOSTS=a1b1,a1b2,a2b1,a2b2' --hosts 'a[1-2]b[1-2]'
environment 'VOCL_HOSTS=[fe80::1],n' --hosts '[fe80::1],n'
for wrong in 'n[' 'n[]' 'n[a]' 'n[3-1]' 'n[1-]' 'n[1-99999999]' 'a b' ',a' 'a,'; do
    status 2 run --hosts "$wrong" -- true
done
printf '# two hosts\na slots=2\n\n b:3 # three\nc[1-2]\n' > "$scratch/hosts"
environment VOCL_HOSTS=a,a,b,b,b,c1,c2 --hostfile "$scratch/hosts"
status 2 run --hostfile "$scratch/none" -- true
for wrong in '' '# none' 'a slots=0' 'a slots=x' 'a b' 'a:2 slots=2'; do
    echo "$wrong" > "$scratch/hosts"
    status 2 run --hostfile "$scratch/hosts" -- true
done

# A name that is nearly a setting's is reported; one that is no setting's at all is not.
VOCL_WROKERS=2 VOCL_NETWORKS=x VOCL_ELSE=1 vocl run -- true 2> "$scratch/output"
for word in 'VOCL_WROKERS; is VOCL_WORKERS' 'VOCL_NETWORKS; is VOCL_NETWORK'; do
    grep -q "no setting $word meant" "$scratch/output" || fail "misspelt: $(cat "$scratch/output")"
done
[ "$(wc -l < "$scratch/output")" = 2 ] || fail "misspelt: $(cat "$scratch/output")"

# Output for programs
python3 - "$(vocl devices --json)" "$(vocl sessions --json)" "$(vocl doctor --json)" <<'END' || fail "JSON"
import json, sys

devices, sessions, doctor = map(json.loads, sys.argv[1:])
assert devices and set(devices[0]) == {"host", "type", "compute_units", "memory_bytes", "name"}, devices
assert all(set(s) == {"pid", "program", "network", "nodes", "session", "state"} for s in sessions), sessions
assert any(d["topic"] == "devices" for d in doctor) and all(set(d) == {"verdict", "topic", "text"} for d in doctor), doctor
END
lacks OCL_ICD_VENDORS --interpose preload
[ -n "$others" ] || lacks LD_PRELOAD --door icd # the former name
lacks VOCL_WORKERS
VOCL_HOSTS=a lacks VOCL_HOSTS --workers 2
VOCL_LOG=debug environment VOCL_LOG=debug
[ -n "$others" ] ||
    LD_PRELOAD=libm.so.6 environment "LD_PRELOAD=$VOCL_LIBEXECDIR/$library:libm.so.6"
OCL_ICD_VENDORS=/elsewhere environment VOCL_NATIVE_ICD_VENDORS=/elsewhere

# `vocl run` inside another changes nothing more.
vocl run -- env | sort > "$scratch/once"
vocl run -- vocl run -- env | sort > "$scratch/twice"
cmp "$scratch/once" "$scratch/twice" || fail "vocl run inside vocl run changes the environment"

# Half an installation causes an error, not a native run.
VOCL_LIBEXECDIR=$scratch status 125 run -- true
