"""trace_check.py FILE [ROUNDS] [workers=N] [moves=N] [programs=N] [ahead=US]

Checks what is true of every trace (doc/user/tracing.md) and, with ROUNDS, the counts of a trace of tests/session/traced with so
many rounds. ahead: how far the clocks of workers are ahead of the program's.
"""
import bisect
import json
import sys
from collections import Counter, defaultdict

SLACK = 0.0015  # us: times are whole nanoseconds


def fail(text):
    print("FAILED:", text)
    sys.exit(1)


def need(condition, text):
    if not condition:
        fail(text)


def check_form(trace):
    for e in trace["traceEvents"]:
        need(e["ph"] in "XisftbeM", f"a phase that is not: {e}")
        if e["ph"] != "M":
            need(e["ts"] >= 0, f"before the beginning: {e}")
        if e["ph"] == "X":
            need(e["dur"] >= 0, f"ends before it begins: {e}")
    named = {(e["pid"], e["tid"]) for e in trace["traceEvents"] if e["ph"] == "M"}
    for e in trace["traceEvents"]:
        need((e["pid"], e["tid"]) in named, f"a track without a name: {e}")


def check_nesting(slices):
    tracks = defaultdict(list)
    for e in slices:
        tracks[e["pid"], e["tid"]].append(e)
    for events in tracks.values():
        events.sort(key=lambda e: (e["ts"], -e["dur"]))
        open_until = []
        for e in events:
            end = e["ts"] + e["dur"]
            while open_until and open_until[-1] <= e["ts"] + SLACK:
                open_until.pop()
            need(not open_until or end <= open_until[-1] + SLACK, f"overlaps what it is not in: {e}")
            open_until.append(end)
    return tracks


def check_flows(trace, tracks):
    flows = defaultdict(list)
    for e in trace["traceEvents"]:
        if e["ph"] in "stf":
            flows[e["id"]].append(e)
    for number, events in flows.items():
        phases = "".join(e["ph"] for e in events)
        need(phases in ("sf", "stf"), f"arrow {number} is {phases}")
        need(all(a["ts"] <= b["ts"] for a, b in zip(events, events[1:])), f"arrow {number} goes back in time")
        for e in events:
            track = tracks[e["pid"], e["tid"]]
            before = bisect.bisect_right(track, e["ts"] + SLACK, key=lambda s: s["ts"])
            need(any(e["ts"] <= track[i]["ts"] + track[i]["dur"] + SLACK for i in range(before - 1, -1, -1)),
                 f"arrow {number} ends nowhere: {e}")
        need(events[0]["cat"] == "xtq flow" or events[0]["pid"] != events[1]["pid"], f"arrow {number} does not leave its process")
    return flows


def check_queues(trace):
    open_ones = {}
    for e in trace["traceEvents"]:
        if e["ph"] == "b":
            open_ones[e["pid"], e["id"], e["name"]] = e["ts"]
        elif e["ph"] == "e":
            began = open_ones.pop((e["pid"], e["id"], e["name"]), None)
            need(began is not None and began <= e["ts"] + SLACK, f"ends before it begins: {e}")
    need(not open_ones, f"{len(open_ones)} do not end")


def check_clocks(trace, ahead):
    for program in trace["otherData"]["programs"]:
        for worker in program["workers"]:
            need(worker["clock_answers"] > 0, f"nobody asked what time it is: {worker}")
            need(0 < worker["clock_error_us"] < 100000, f"its clock is not known: {worker}")
            need(abs(worker["clock_offset_us"] - ahead) <= worker["clock_error_us"] + SLACK,
                 f"its clock is ahead by {ahead} us: {worker}")
            print(f"worker {worker['worker']}: {worker['clock_answers']} answers, offset "
                  f"{worker['clock_offset_us']:.1f} us, error {worker['clock_error_us']:.1f} us")


def check_program(pid, slices, rounds):
    calls = [e for e in slices if e["cat"] == "call" and e["pid"] == pid]
    counts = Counter(e["name"] for e in calls)
    expected = {"clEnqueueWriteBuffer": 2 * rounds, "clEnqueueNDRangeKernel": 2 * rounds,
                "clEnqueueReadBuffer": 2 * rounds, "clFinish": 2, "clCreateKernel": 2, "clSetKernelArg": 2,
                "clCreateCommandQueue": 2, "clCreateBuffer": 2, "clCreateContext": 1, "clBuildProgram": 1,
                "clCreateProgramWithSource": 1, "clGetPlatformIDs": 1, "clGetDeviceIDs": 1}
    need(counts == expected, f"calls: {counts}, not {expected}")
    trips, out, back = Counter(), Counter(), Counter()
    for e in calls:
        trips[e["name"]] += e.get("args", {}).get("round_trips", 0)
        out[e["name"]] += e.get("args", {}).get("bytes_out", 0)
        back[e["name"]] += e.get("args", {}).get("bytes_in", 0)
    need(trips["clEnqueueReadBuffer"] == 2 * rounds, f"round trips of reads: {trips}")
    need(trips["clFinish"] == 2, f"round trips of clFinish: {trips}")
    need(trips["clEnqueueWriteBuffer"] == trips["clEnqueueNDRangeKernel"] == 0, f"round trips: {trips}")
    need(out["clEnqueueWriteBuffer"] == 2 * rounds * 4096, f"bytes out: {out}")
    need(back["clEnqueueReadBuffer"] == 2 * rounds * 4, f"bytes in: {back}")
    threads = {e["tid"] for e in calls if e["name"] == "clEnqueueNDRangeKernel"}
    need(len(threads) == 2, f"launches are of {len(threads)} threads")


def check_runs(slices, flows, rounds, programs):
    runs = [e for e in slices if e["cat"] == "run"]
    kernels = Counter(e["name"] for e in runs if "kernel" in e["args"])
    need(kernels == {"twice": rounds * programs, "thrice": rounds * programs}, f"kernels: {kernels}")
    for e in runs:
        if "kernel" in e["args"]:
            need(e["args"]["global"] == [1024, 0, 0], f"how large a launch was: {e}")
            need(e["args"]["native_times"], f"no times of native OpenCL: {e}")
    sizes = Counter((e["name"], e["args"]["bytes"]) for e in runs if "bytes" in e["args"])
    need(sizes["write_buffer", 4096] == sizes["read_buffer", 4] == 2 * rounds * programs, f"commands: {sizes}")
    need(len(flows) >= 6 * rounds * programs, f"{len(flows)} arrows")


def main():
    words = dict(word.split("=") for word in sys.argv[2:] if "=" in word)
    rounds = [int(word) for word in sys.argv[2:] if word.isdigit()]
    with open(sys.argv[1]) as file:
        trace = json.load(file)
    slices = [e for e in trace["traceEvents"] if e["ph"] == "X"]
    check_form(trace)
    tracks = check_nesting(slices)
    flows = check_flows(trace, tracks)
    check_queues(trace)
    check_clocks(trace, float(words.get("ahead", 0)))
    programs = trace["otherData"]["programs"]
    need(len(programs) == int(words.get("programs", 1)), f"{len(programs)} programs")
    for program in programs:
        need(program["records_dropped"] == 0, "records are missing")
        need(len(program["workers"]) == int(words.get("workers", len(program["workers"]))), f"workers: {program}")
        if rounds:
            check_program(program["pid"], slices, rounds[0])
    if rounds:
        check_runs(slices, flows, rounds[0], len(programs))
    if "moves" in words:
        moves = [e for e in slices if e["name"] == "move"]
        need(len(moves) == int(words["moves"]), f"{len(moves)} moves")
        need(len({e["pid"] for e in slices if e["cat"] == "run"}) == 2, "commands of one worker only")


main()
