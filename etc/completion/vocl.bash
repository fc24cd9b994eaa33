# Completion of vocl(1) in bash. Subcommands and options are taken from --help, so nothing has to be kept in step.
_vocl_help()
{
    "$1" ${2:+"$2"} --help 2> /dev/null
}
_vocl_commands()
{
    _vocl_help "$1" | sed -n '/^commands:/,/^$/s/^  \([a-z][a-z-]*\) .*/\1/p'
}
_vocl_options()
{
    _vocl_help "$1" "$2" | grep -oE -e '--[a-z][a-z-]*' | sort -u
}
_vocl_values()
{
    case $1 in
    -m | --mpi)     echo mpich openmpi ;;
    -k | --network) echo auto mpi pairs tls plain ssh ;;
    -d | --interpose)    echo preload icd both ;;
    -p | --policy)  echo pack spread least-loaded order ;;
    --dims)         echo 2 3 ;;
    esac
}
# Prints the action after "vocl pool", and the pool that it is for: "kill --pool=x"
_vocl_pool_words()
{
    local i what= pool=
    for ((i = 2; i < COMP_CWORD; i++)); do
        case ${COMP_WORDS[i]} in
        -[PuJsSorTwWtdf] | --pool | --user | --job | --since | --sum | --owner | --reason | --at | --until | --timeout | --wait | --to | --device | --from)
            local option=${COMP_WORDS[i]}
            [[ ${COMP_WORDS[i + 1]} == '=' ]] && ((i++))
            ((i++))
            [[ $option == -P || $option == --pool ]] && pool=${COMP_WORDS[i]} ;;
        -*) ;;
        *) [[ -n $what ]] || what=${COMP_WORDS[i]} ;;
        esac
    done
    echo "${what:--} $pool"
}
# _vocl_names VOCL WHAT [POOL]: prints the names of that kind that the daemons know; nothing, soon, if none answers
_vocl_names()
{
    "$1" pool ${3:+"--pool=$3"} complete "$2" 2> /dev/null < /dev/null | cut -f 1
}
# Prints the PIDs of this host's programs that have a session.
_vocl_programs()
{
    "$1" sessions 2> /dev/null < /dev/null | awk '$1 ~ /^[0-9]+$/ { print $1 }'
}
# Prints the index of the program among the words, or 0.
_vocl_program()
{
    local i
    for ((i = 2; i < COMP_CWORD; i++)); do
        case ${COMP_WORDS[i]} in
        --) echo $((i + 1)); return ;;
        -[wSCHPnMNsWpDmkdgt] | --spare | --restore | --workers | --hosts | --pool | --count | --gpus | --mem | --name | --weight | --share | --hostfile | --launcher | --gres | --wait | --policy | \
            --devices | --mpi | --network | --interpose | --door | --trace) [[ ${COMP_WORDS[i + 1]} == '=' ]] && ((i++)); ((i++)) ;;
        -*) ;;
        *) echo $i; return ;;
        esac
    done
    echo 0
}
_vocl()
{
    local vocl=${COMP_WORDS[0]} word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]} command=${COMP_WORDS[1]} values

    COMPREPLY=()
    if ((COMP_CWORD == 1)); then
        COMPREPLY=($(compgen -W "$(_vocl_commands "$vocl") --help --version" -- "$word"))
        return
    fi
    if [[ $command == run ]]; then
        local program=$(_vocl_program)
        if ((program)); then
            if ((program == COMP_CWORD)); then
                COMPREPLY=($(compgen -c -- "$word"))
            elif declare -F _command_offset > /dev/null; then
                _command_offset $program
            fi
            return
        fi
    fi
    # "--mpi=x" is three words for bash
    [[ $word == '=' ]] && word=
    [[ $before == '=' ]] && before=${COMP_WORDS[COMP_CWORD - 2]}
    values=$(_vocl_values "$before")
    case $before in
    -H | --hosts)
        declare -F _known_hosts_real > /dev/null && _known_hosts_real -- "$word"
        return ;;
    -P | --pool | --topology | -C | --restore)
        COMPREPLY=($(compgen -f -- "$word"))
        return ;;
    esac
    case $command/$before in
    pool/-t | pool/--to | pool/-f | pool/--from | move/-t | move/--to)
        set -- $(_vocl_pool_words)
        COMPREPLY=($(compgen -W "$(_vocl_names "$vocl" nodes "$2")" -- "$word"))
        return ;;
    esac
    if [[ -n $values ]]; then
        COMPREPLY=($(compgen -W "$values" -- "$word"))
    elif [[ $word == -* ]]; then
        COMPREPLY=($(compgen -W "$(_vocl_options "$vocl" "$command")" -- "$word"))
    elif [[ $command == pool ]] && set -- $(_vocl_pool_words) && [[ $1 != - ]]; then
        COMPREPLY=($(compgen -W "$(_vocl_names "$vocl" "$1" "$2")" -- "$word"))
    elif [[ $command == pool ]]; then
        COMPREPLY=($(compgen -W "status nodes devices sessions queue history events wait drain resume reload kill move suspend rebalance" -- "$word"))
    elif [[ $command == topo ]]; then
        COMPREPLY=($(compgen -W "show predict order halo calibrate route" -- "$word"))
    elif [[ $command == move || $command == suspend || $command == resume || $command == checkpoint ]]; then
        COMPREPLY=($(compgen -W "$(_vocl_programs "$vocl")" -- "$word"))
    elif [[ $command == run ]]; then
        COMPREPLY=($(compgen -c -- "$word"))
    fi
}
complete -o bashdefault -o default -F _vocl vocl
