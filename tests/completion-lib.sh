# bash's completions, for completion.sh and pool/complete.sh.
need bash bash

# completed WORD...: prints what bash offers for the last word
cat > "$scratch/complete" <<END
. "$top_srcdir/etc/completion/vocl.bash"
COMP_WORDS=("\$@")
COMP_CWORD=\$((\$# - 1))
_vocl
printf '%s\n' "\${COMPREPLY[@]}"
END
completed()
{
    env -u LD_PRELOAD bash "$scratch/complete" "$@" | sort
}
