# Shared by the scripts that have spin look at models, after lib.sh.
need spin spin

cd "$scratch" || exit 99
# explore MODEL OPTION...: all states of a model of the folder $models; what spin found is in log. $compiler_options are
# for what spin generates, which most of the time takes longer to optimize than to run as it is. Its $table has two to the
# power of this entries, which are cleared at first; a path of more steps than -m would make the search incomplete.
explore()
{
    model=$top_srcdir/tests/$models/$1.pml
    shift
    spin -a "$@" "$model" > log && ${CC:-cc} -w -DSAFETY $compiler_options pan.c -o pan || fail "$model $*: $(cat log)"
    ./pan -m100000 -w${table:-20} > log || fail "$model $*: $(cat log)"
}

holds()
{
    explore "$@"
    grep -q 'errors: 0' log && ! grep -q 'Search not completed' log || fail "$*: $(cat log)"
    grep 'states, stored' log
}

# What a model is worth: it finds the mistake that is built in.
fails()
{
    explore "$@"
    grep -q 'errors: 1' log || fail "$*: no error found: $(cat log)"
}
