# Shared by the scripts that check models with spin, after lib.sh.
need spin spin

cd "$scratch" || exit 99
# explore MODEL OPTION...: checks all states of a model in the folder $models; spin's output is in log.
# $compiler_options are for the program that spin generates, which mostly takes longer to optimize than to run
# unoptimized. Its $table has two to the power of this many entries, which are cleared first; a path longer than -m
# would make the search incomplete.
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

# fails ...: the model finds the mistake that is built into it.
fails()
{
    explore "$@"
    grep -q 'errors: 1' log || fail "$*: no error found: $(cat log)"
}
