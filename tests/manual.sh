#!/bin/sh
# Each function of the public headers of libxtq, libxtqmpi and libdevcom has a manual page with all sections, which names
# the function's arguments, and which groff accepts.
. "$(dirname "$0")/lib.sh"
need groff groff

# declared HEADER: prints `NAME ARGUMENT...` for each function of a header and of its parts, HEADER_PART.h
declared()
{
    # without comments, on one line, a declaration a line
    sed -e 's,/\*.*\*/,,' -e '/\/\*/,/\*\//d' -e '/^#/d' "$top_srcdir/include/$1.h" $(ls "$top_srcdir/include/$1"_*.h 2> /dev/null) |
        tr '\n' ' ' | tr '{};' '\n\n\n' |
        sed -n "/typedef/d; s/.*[ *]\\($1_[a-z0-9_]*\\)(\\(.*\\)).*/\\1,\\2/p" | awk -F , '{
            line = $1
            for (k = 2; k <= NF; k++) {
                match($k, /[A-Za-z0-9_]+ *$/)
                line = line " " substr($k, RSTART, RLENGTH)
            }
            print line
        }'
}

for library in xtq xtqmpi devcom; do
    pages=$(cat "$top_builddir/man/$library.pages")
    declared $library > "$scratch/functions"
    [ "$(wc -l < "$scratch/functions")" -ge 5 ] || fail "$library.h: few functions were found: $(cat "$scratch/functions")"
    {
        echo "lib$library.3"
        sed 's/ .*/.3/' "$scratch/functions"
    } | sort > "$scratch/expected"
    echo "$pages" | sort | diff "$scratch/expected" - || fail "$library.h declares these functions, and there are those pages"
    while read -r name arguments; do
        page=$top_builddir/man/$name.3
        read -r first < "$page"
        case $first in
            .so*)
                target=$top_builddir/man/${first#.so man3/}
                [ "$first" = ".so man3/${target##*/}" ] && [ -s "$target" ] && ! grep -q '^\.so' "$target" || fail "$name.3: $first"
                page=$target
                ;;
        esac
        for section in NAME SYNOPSIS DESCRIPTION 'RETURN VALUE' 'SEE ALSO'; do
            grep -qx "\.SH $section" "$page" || fail "$page has no section $section"
        done
        # the name stands before the dash, and is bold with a parenthesis in the synopsis
        grep -A1 '^\.SH NAME' "$page" | grep -q "[ ,]$name[ ,]\|^$name[ ,]" || fail "$page does not name $name"
        grep -q "$name(\\\\fB" "$page" || fail "$page has no prototype of $name"
        sed -n -e 's/\\f[BIR]//g' -e '/^\.SH DESCRIPTION/,/^\.SH RETURN VALUE/p' "$page" > "$scratch/said"
        grep -q '^The other arguments are those of' "$scratch/said" || for argument in $arguments; do
            grep -qw -e "$argument" "$scratch/said" || fail "$page: nothing is said of the argument $argument of $name()"
        done
    done < "$scratch/functions"
    (cd "$top_builddir/man" && groff -man -ww -z $(grep -L '^\.so' $pages)) > "$scratch/warnings" 2>&1 || fail "$(cat "$scratch/warnings")"
    [ ! -s "$scratch/warnings" ] || { cat "$scratch/warnings"; fail "groff warns about pages of $library.h"; }
    for function in $(sed 's/ .*//' "$scratch/functions"); do
        grep -q "$function.*(3)" "$top_builddir/man/lib$library.3" || fail "lib$library.3 does not list $function()"
    done
done
