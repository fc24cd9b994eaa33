# Completion of vocl(1) in fish. Subcommands and options are taken from --help.
function __vocl_commands
    vocl --help 2>/dev/null | sed -n '/^commands:/,/^$/s/^  \([a-z][a-z-]*\)  *\(.*\)/\1\t\2/p'
end
function __vocl_command
    set -l words (commandline -opc)
    test (count $words) -ge 2; and echo $words[2]
end
function __vocl_options
    set -l command (__vocl_command)
    vocl $command --help 2>/dev/null | grep -oE -e '--[a-z][a-z-]*' | sort -u
end
function __vocl_has_program
    set -l words (commandline -opc)
    contains -- -- $words
end
complete -c vocl -f -n 'test (count (commandline -opc)) -eq 1' -a '(__vocl_commands)'
complete -c vocl -f -n 'test -n "$(__vocl_command)"; and not __vocl_has_program' -a '(__vocl_options)'
complete -c vocl -n 'test "$(__vocl_command)" = run' -a '(__fish_complete_subcommand --fcs-skip=2)'
# The action of `vocl pool` on the command line, and the names that the daemons know for it; nothing, soon, if none
# answers.
function __vocl_pool_word
    for word in (commandline -opc)[3..-1]
        contains -- $word drain resume reload kill move suspend; and echo $word; and return
    end
end
function __vocl_pool_names
    vocl pool (string match -- '--pool=*' (commandline -opc)) complete $argv[1] 2>/dev/null </dev/null
end
function __vocl_programs
    vocl sessions 2>/dev/null </dev/null | awk '$1 ~ /^[0-9]+$/ { print $1 }'
end
complete -c vocl -f -n 'test "$(__vocl_command)" = pool; and test -z "$(__vocl_pool_word)"' -a 'status nodes devices sessions queue history events wait drain resume reload kill move suspend rebalance'
complete -c vocl -f -n 'test "$(__vocl_command)" = pool; and test -n "$(__vocl_pool_word)"' -a '(__vocl_pool_names (__vocl_pool_word))'
complete -c vocl -f -n 'contains -- "$(__vocl_command)" move suspend resume checkpoint' -a '(__vocl_programs)'
complete -c vocl -f -n 'test "$(__vocl_command)" = topo' -a 'show predict order halo calibrate route'
complete -c vocl -x -l mpi -a 'mpich openmpi'
complete -c vocl -x -l network -a 'auto mpi pairs tls plain ssh'
complete -c vocl -x -l interpose -a 'preload icd both'
complete -c vocl -x -l policy -a 'pack spread least-loaded order'
complete -c vocl -x -l hosts -a '(__fish_print_hostnames)'
complete -c vocl -r -l trace
complete -c vocl -r -l restore
complete -c vocl -r -l pool
