#!/bin/sh
# The parity tests notice differences: programs that behave differently through VOCL fail, and equal ones pass.
. "$(dirname "$0")/lib.sh"
need_foreign_programs

# expect WANTED NAME BODY: runs a program through run-parity; both interposition methods have to report WANTED.
limit=60
expect()
{
    printf '#!/bin/sh\n%s\n' "$3" > "$scratch/$2"
    chmod +x "$scratch/$2"
    VOCL_TEST_LIMIT=$limit "$top_srcdir/tests/run-parity" "$scratch/$2" > "$scratch/tap"
    cat "$scratch/tap"
    [ "$(grep -c "^$1" "$scratch/tap")" = 2 ] || fail "$2: expected \"$1\" from both methods"
}

through='case "$LD_PRELOAD$OCL_ICD_VENDORS" in *libexec*)'
expect 'ok . - [a-z]*$' same 'echo hello; exit 0'
expect 'ok . - [a-z]* # SKIP no device$' skipped 'echo no device; exit 77'
expect 'not ok' output "$through echo hello ;; esac"
expect 'not ok' native-failure 'exit 1'
expect 'not ok' status "$through exit 1 ;; esac"
expect 'not ok' killed "$through kill -9 \$\$ ;; esac"
limit=2
expect 'not ok' hanging "$through exec sleep 60 ;; esac"
