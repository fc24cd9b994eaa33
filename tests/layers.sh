#!/bin/sh
# Checks which room may include which (CONTRIBUTING.md has the picture). A room that is not named here may include
# nothing of another. A room's headers for others are named here; its other headers, above all its internal.h, are for
# its own files.
. "$(dirname "$0")/lib.sh"
cd "$top_srcdir" || exit 99

# The room of a file: its top folder, or its subfolder where the top folder is divided into rooms.
room()
{
    case $1 in
    client/*/* | transport/*/* | proxy/*/* | mpi/*/*) echo "${1%/*}" ;;
    *)         echo "${1%%/*}" ;;
    esac
}

allowed()
{
    case $1 in
    base)         echo "base/*" ;;
    wire)         echo "wire/* base/*" ;;
    transport/plugin) echo "transport/plugin/* base/*" ;;
    transport/shm)    echo "transport/shm/* transport/alive/fd_store.h base/*" ;;
    transport/alive)  echo "transport/alive/* base/*" ;;
    transport/core)   echo "transport/core/* transport/plugin/mpi_plugin.h transport/shm/* transport/alive/* transport/transport.h transport/starter.h wire/frame.h base/*" ;;
    transport/stream) echo "transport/stream/* transport/plugin/* $(allowed transport/core)" ;;
    transport/mpi)    echo "transport/mpi/* transport/plugin/* $(allowed transport/core)" ;;
    transport/launch) echo "transport/launch/* $(allowed transport/core)" ;;
    transport/rendezvous) echo "transport/rendezvous/* transport/launch/* $(allowed transport/stream)" ;;
    transport/join)   echo "transport/join/* $(allowed transport/rendezvous)" ;;
    transport/start)  echo "transport/start/* transport/mpi/watch.h $(allowed transport/rendezvous)" ;;
    transport)        echo "transport/* base/*" ;;
    executor)     echo "executor/* topology/native.h wire/* base/*" ;;
    client/core)    echo "client/core/* client/trace/* executor/plugin.h transport/transport.h wire/* base/*" ;;
    client/trace)   echo "client/trace/* client/core/* wire/* base/*" ;;
    client/memory)  echo "client/memory/* $(allowed client/core)" ;;
    client/data)    echo "client/data/* $(allowed client/memory)" ;;
    client/survive) echo "client/survive/* $(allowed client/data)" ;;
    client)       echo "client/* executor/plugin.h transport/transport.h wire/* base/*" ;;
    libvocl)      echo "libvocl/* client/* wire/* base/*" ;;
    pool)         echo "pool/* base/*" ;;
    proxy)        echo "proxy/worker/worker.h proxy/launch/remote.h proxy/supervisor.h proxy/fork_server.h transport/starter.h base/*" ;;
    proxy/worker) echo "proxy/worker/* proxy/control.h proxy/supervisor.h proxy/fork_server.h topology/* executor/executor.h transport/transport.h transport/plugin/loader.h wire/* base/*" ;;
    proxy/daemon/net)      echo "proxy/daemon/net/* proxy/daemon/daemon.h proxy/supervisor.h pool/* base/*" ;;
    proxy/daemon/node)     echo "proxy/daemon/node/* $(allowed proxy/daemon/net) proxy/control.h proxy/fork_server.h topology/* transport/starter.h" ;;
    proxy/daemon/pool)     echo "proxy/daemon/pool/* $(allowed proxy/daemon/net) proxy/daemon/schedule/placement.h proxy/daemon/node/node.h topology/* transport/plugin/loader.h" ;;
    proxy/daemon/schedule) echo "proxy/daemon/schedule/* $(allowed proxy/daemon/net) proxy/daemon/conf.h proxy/daemon/node/node.h proxy/daemon/pool/peers.h topology/*" ;;
    proxy/daemon/web)      echo "proxy/daemon/web/* $(allowed proxy/daemon/net) proxy/daemon/node/node.h proxy/daemon/pool/peers.h proxy/daemon/schedule/schedule.h" ;;
    proxy/daemon) echo "proxy/daemon/* pool/* base/*" ;;
    proxy/launch) echo "proxy/launch/* proxy/supervisor.h proxy/fork_server.h pool/* transport/starter.h transport/alive/bell.h transport/rendezvous/greeting.h base/*" ;;
    proxy/announce) echo "proxy/announce/* base/*" ;;
    proxy/slurm)  echo "proxy/slurm/* base/*" ;;
    proxy/kubernetes) echo "proxy/kubernetes/* pool/* base/*" ;;
    tools)        echo "tools/* pool/* topology/* wire/frame.h base/*" ;; # with tools/topo/, which `vocl topo` alone uses
    tests)        echo "tests/* tools/topo/* tools/progress.h proxy/supervisor.h proxy/fork_server.h proxy/daemon/schedule/placement.h proxy/launch/costs.h proxy/launch/pmi.h proxy/launch/remote.h proxy/launch/tunnel.h ground/* xtq/* mpi/* devcom/* topology/* pool/* executor/executor.h executor/pages.h transport/* wire/* base/*" ;;
    examples)     echo "examples/*" ;;
    benchmarks)   echo "benchmarks/* tools/topo/* pool/* base/* topology/topology.h topology/bus.h" ;;
    ground)       echo "ground/* base/*" ;;
    xtq)          echo "xtq/* ground/* base/*" ;;
    mpi)             echo "mpi/* xtq/inside.h ground/* base/*" ;;
    mpi/rma)         echo "mpi/rma/* mpi/intercept.h mpi/pieces.h mpi/collectives/meet.h mpi/device/device.h xtq/inside.h ground/* base/*" ;;
    mpi/collectives) echo "mpi/collectives/* mpi/intercept.h mpi/device/device.h ground/* base/*" ;;
    mpi/device)      echo "mpi/device/* mpi/intercept.h mpi/pieces.h mpi/rma/window.h ground/* base/*" ;;
    devcom)       echo "devcom/* ground/* base/*" ;;
    topology)     echo "topology/* base/*" ;;
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

set -f # the shell must not expand the patterns above
sources > "$scratch/files"
while read -r file; do
    directory=${file%%/*}
    room=$(room "$file")

    # "name.h" without a folder is in the including file's folder, or one of the headers of no room.
    for include in $(sed -n 's/^ *# *include *"\(.*\)".*/\1/p' "$file"); do
        case $include in
        config.h | vocl.h | vocl_words.h | xtq.h | xtqmpi.h | devcom.h | devcom_*.h) continue ;;
        */*) ;;
        *) include=${file%/*}/$include ;;
        esac
        permitted "$include" $(allowed "$room") || echo "$file includes $include"
        case $include in
        */internal.h)
            [ "${include%/*}" = "$room" ] || [ "$directory" = tests ] ||
                echo "$file includes $include, which only the files of ${include%/*}/ share" ;;
        esac
    done

    for include in $(sed -n 's/^ *# *include *<\(.*\)>.*/\1/p' "$file"); do
        case $directory:$include in
        transport:mpi.h)
            [ "$file" = transport/plugin/mpi.c ] || echo "$file includes mpi.h; only transport/plugin/mpi.c may" ;;
        *:openssl/*)
            [ "$file" = transport/plugin/tls.c ] || echo "$file includes $include; only transport/plugin/tls.c may" ;;
        *:avahi-*)
            case $file in
            proxy/announce/announce.c | tools/discover.c) ;;
            *) echo "$file includes $include; only proxy/announce/announce.c and tools/discover.c may" ;;
            esac ;;
        *:zstd*)
            [ "$file" = transport/plugin/pack.c ] || echo "$file includes $include; only transport/plugin/pack.c may" ;;
        include:mpi.h | ground:mpi.h | xtq:mpi.h | mpi:mpi.h | devcom:mpi.h | tests:mpi.h | benchmarks:mpi.h | examples:mpi.h) ;;
        *:mpi.h)
            echo "$file includes mpi.h; only transport/plugin/mpi.c may" ;;
        base:CL/* | transport:CL/*)
            echo "$file includes $include; $directory knows no OpenCL" ;;
        esac
    done
done < "$scratch/files" > "$scratch/violations"

[ -s "$scratch/files" ] || fail "no sources found"
[ ! -s "$scratch/violations" ] || { cat "$scratch/violations"; fail "includes that cross the layers"; }
