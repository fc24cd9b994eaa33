#!/bin/sh
# Who may include whom (CONTRIBUTING.md has the picture). A directory not named here may include nothing of another.
. "$(dirname "$0")/lib.sh"
cd "$top_srcdir" || exit 99

allowed()
{
    case $1 in
    base)       echo "base/*" ;;
    wire)       echo "wire/* base/*" ;;
    transport)  echo "transport/* wire/frame.h base/*" ;;
    executor)   echo "executor/* wire/* base/*" ;;
    libvocl)    echo "libvocl/* executor/* transport/* wire/* base/*" ;;
    pool)       echo "pool/* base/*" ;;
    proxy)      echo "proxy/* pool/* topology/* executor/* transport/* wire/* base/*" ;;
    tools)      echo "tools/* pool/* topology/* base/*" ;;
    tests)      echo "tests/* proxy/place.h proxy/pmi.h proxy/tunnel.h xtq/* devcom/* topology/* pool/* executor/* transport/* wire/* base/*" ;;
    examples)   echo "examples/*" ;;
    benchmarks) echo "benchmarks/* topology/topology.h topology/bus.h" ;;
    ground)     echo "ground/* base/*" ;;
    xtq)        echo "xtq/* ground/* base/*" ;;
    devcom)     echo "devcom/* ground/* base/*" ;;
    topology)   echo "topology/* base/*" ;;
    esac
}

# permitted INCLUDE PATTERN...
permitted()
{
    permitted_include=$1
    shift
    for permitted_pattern; do
        case $permitted_include in
        $permitted_pattern) return 0 ;;
        esac
    done
    return 1
}

set -f # the patterns above are not for the shell to expand
sources > "$scratch/files"
while read -r file; do
    directory=${file%%/*}

    # "name.h" without a folder is a neighbour, or one of the headers that belong to nobody.
    for include in $(sed -n 's/^ *# *include *"\(.*\)".*/\1/p' "$file"); do
        case $include in
        config.h | vocl.h | vocl_words.h | xtq.h | xtqmpi.h | devcom.h) continue ;;
        */*) ;;
        *) include=${file%/*}/$include ;;
        esac
        permitted "$include" $(allowed "$directory") || echo "$file includes $include"
    done

    for include in $(sed -n 's/^ *# *include *<\(.*\)>.*/\1/p' "$file"); do
        case $directory:$include in
        transport:mpi.h)
            [ "$file" = transport/mpi.c ] || echo "$file includes mpi.h; only transport/mpi.c may" ;;
        *:openssl/*)
            [ "$file" = transport/tls.c ] || echo "$file includes $include; only transport/tls.c may" ;;
        include:mpi.h | ground:mpi.h | xtq:mpi.h | devcom:mpi.h | tests:mpi.h | benchmarks:mpi.h | examples:mpi.h) ;;
        *:mpi.h)
            echo "$file includes mpi.h; only transport/mpi.c may" ;;
        base:CL/* | transport:CL/*)
            echo "$file includes $include; $directory knows no OpenCL" ;;
        esac
    done
done < "$scratch/files" > "$scratch/violations"

[ -s "$scratch/files" ] || fail "no sources found"
[ ! -s "$scratch/violations" ] || { cat "$scratch/violations"; fail "includes that cross the layers"; }
