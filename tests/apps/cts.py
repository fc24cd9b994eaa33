"""
Runs programs of OpenCL-CTS natively and through VOCL, and compares the verdicts test by test; started by cts.

A program runs its tests one after the other and prints the beginning and the verdict of each. If it ends early or a
test takes too long, that test's verdict is `crash` or `hang`, and the program is started again with the tests that are
left. Tests that natively take longer than --limit are left out in the other modes. The folder --results keeps the
verdicts, one file for each suite and mode, so that they can run side by side; a test that has a verdict runs --again only.
"""
import argparse
import collections
import json
import os
import pty
import re
import select
import signal
import subprocess
import sys
import time

# what stands before the program, and what is in its environment
MODES = {
    "native": ([], {}),
    "preload": (["vocl", "run", "--interpose", "preload", "--"], {}),
    "icd": (["vocl", "run", "--interpose", "icd", "--"], {}),
    "workers": (["vocl", "run", "--workers", "2", "--"], {}),
    "tls": (["TOP/tests/net/two-hosts", "--"], {"VOCL_NETWORK": "tls"}),
    "recover": (["vocl", "run", "--recover", "--"], {}),
    "killed": (["vocl", "run", "--recover", "--"], {"VOCL_LOG": "info"}),
    "moved": (["vocl", "run", "--"], {"VOCL_SPARE": "1", "VOCL_MOVE_EVERY": "500", "VOCL_LOG": "info"}),
}
MARK = "VOCL_TEST_MARK"
KILL_EVERY = 3  # tests: in the mode "killed" a worker is killed when a test begins
# what a program prints behind a test's name
VERDICTS = {"passed": "pass", "FAILED": "fail", "test not supported": "skip", "test currently not implemented": "skip"}
SKIPPED = re.compile(r"skipped \(requires|tests is not supported in offline|Test skipped while init")
TIMES_SLOWER = 4  # so much longer may a test take through VOCL


def listed(program):
    """The names of the program's tests."""
    text = subprocess.run([program, "--list"], capture_output=True, text=True, timeout=60).stdout
    return re.findall(r"^\t(\w+)$", text, re.M)


def workers():
    """The processes of this script's workers, the first of which is no compiler that a worker has forked."""
    mark = f"{MARK}={os.getpid()}\0"
    for process in sorted(map(int, filter(str.isdigit, os.listdir("/proc")))):
        try:
            command = open(f"/proc/{process}/cmdline").read()
            if "vocl-proxy\0--worker" in command and mark in open(f"/proc/{process}/environ").read():
                yield process
        except OSError:
            pass  # it has ended


class Run:
    """One process of a program, which runs these tests."""

    def __init__(self, command, environment, tests, limit, log, killed, keep):
        self.left, self.current, self.limit, self.log, self.keep = list(tests), None, limit, log, keep
        self.begun, self.killed, mark = 0, killed, str(os.getpid())
        master, slave = pty.openpty()  # so that each line is written at once
        self.process = subprocess.Popen(command + self.left, stdin=subprocess.DEVNULL, stdout=slave, stderr=slave,
                                        env={**os.environ, MARK: mark, **environment}, start_new_session=True)
        os.close(slave)
        self.since = time.monotonic()
        in_time = self.read(master)
        status = self.process.wait() if in_time else self.stop()
        os.close(master)
        if self.current and not in_time:
            self.decide(self.current, "hang")
        elif self.current and status not in (0, 1, 255):
            self.decide(self.current, "crash")
        self.status = status if in_time else "hang"

    def stop(self):
        for sign, patience in ((signal.SIGTERM, 15), (signal.SIGKILL, 15)):
            os.killpg(self.process.pid, sign)
            try:
                return self.process.wait(patience)
            except subprocess.TimeoutExpired:
                pass
        return -9

    def read(self, master):
        """Reads what the process prints until it ends; False if it prints no verdict for too long."""
        rest = b""
        while True:
            wait = self.limit + 30 * (self.current is None) - (time.monotonic() - self.since)
            if wait <= 0 or not select.select([master], [], [], wait)[0]:
                return False
            try:
                data = os.read(master, 1 << 16)
            except OSError:  # the other end is closed
                return True
            if not data:
                return True
            *lines, rest = (rest + data).split(b"\n")
            for line in lines:
                self.log.write(line.rstrip(b"\r") + b"\n")
                self.take(line.decode(errors="replace").rstrip())
            self.log.flush()

    def take(self, line):
        if line.endswith("...") and line[:-3] in self.left:
            self.current, self.since = line[:-3], time.monotonic()
            self.begun += 1
            if self.killed and self.begun % KILL_EVERY == 0:
                for process in list(workers())[:1]:
                    os.kill(process, signal.SIGKILL)
            return
        if line.startswith("Test skipped while init"):
            for test in list(self.left):
                self.decide(test, "skip")
            return
        if not self.current:
            return
        verdict = re.search(rf"\b{self.current} ({'|'.join(VERDICTS)})$", line)  # a line before it may have no end
        if verdict:
            self.decide(self.current, VERDICTS[verdict[1]])
        elif line.startswith(f"{self.current} ") and SKIPPED.search(line) or line.startswith(f"Subtest {self.current} "):
            self.decide(self.current, "skip")
        elif line.startswith(("PASSED ", "FAILED ")) and not self.left:
            self.current = None  # the totals

    def decide(self, test, verdict):
        self.keep(test, (verdict, round(time.monotonic() - self.since, 2)))
        if test in self.left:
            self.left.remove(test)


def run_suite(program, mode, tests, args, keep):
    """Runs these tests of a program in this mode, and keeps each verdict."""
    before, environment = MODES[mode]
    before = [word.replace("TOP", args.top) for word in before]
    log = open(f"{args.results}/{os.path.basename(program)}.{mode}.log", "ab")
    limit = args.limit if mode == "native" else args.limit * TIMES_SLOWER
    while tests:
        run = Run(before + [program], {"CL_WIMPY_MODE": "1", **environment}, tests, limit, log, mode == "killed", keep)
        if len(run.left) == len(tests):
            print(f"{program}, {mode}: no test began: status {run.status}", flush=True)
            break
        tests = run.left


def programs(args):
    found = {}
    for folder, _, names in os.walk(args.folder):
        for name in names:
            path = os.path.join(folder, name)
            if name.startswith("test_") and os.access(path, os.X_OK) and open(path, "rb").read(4) == b"\x7fELF":
                found[name[5:]] = path
    wanted = args.suites.split(",") if args.suites else sorted(found)
    for name in wanted:
        if name not in found:
            sys.exit(f"there is no test_{name} in {args.folder}")
    return {name: found[name] for name in wanted}


def counts(verdicts):
    number = collections.Counter(verdict for verdict, _ in verdicts)
    return ", ".join(f"{number[kind]} {kind}" for kind in ("pass", "fail", "skip", "crash") if number[kind])


def differing(of_suite, natively):
    return [test for test in of_suite if test in natively and of_suite[test][0] != natively[test][0]]


def print_table(results):
    """One row a suite: natively the verdicts, in the other modes how many are the native ones, + how many are not."""
    print("| suite |", " | ".join(results), "|")
    print("| --- " * (len(results) + 1) + "|")
    for suite, natively in results["native"].items():
        row = [counts(natively.values())]
        for mode in list(results)[1:]:
            of_suite = results[mode].get(suite, {})
            other = len(differing(of_suite, natively))
            row.append(f"{len(of_suite) - other}" + (f" + {other}" if other else "") if of_suite else "not run")
        print(f"| {suite} |", " | ".join(row), "|")


def print_differences(results):
    number = 0
    for suite, natively in results["native"].items():
        for test in natively:
            other = [f"{mode} {results[mode][suite][test][0]}" for mode in results
                     if test in differing(results[mode].get(suite, {}), natively)]
            if other:
                print(f"{suite} {test}: native {natively[test][0]}, {', '.join(other)}")
                number += 1
    return number


def load(args, suite, mode):
    path = f"{args.results}/{suite}.{mode}.json"
    return json.load(open(path)) if os.path.exists(path) else {}


def run_mode(suite, program, mode, args):
    """Runs what is left of a suite in this mode."""
    of_suite, natively = load(args, suite, mode), load(args, suite, "native")
    wanted = [test for test in listed(program)
              if (not args.tests or test in args.tests.split(",")) and (args.again or test not in of_suite) and
              (mode == "native" or natively.get(test, ["hang"])[0] != "hang")]

    def keep(test, verdict):
        of_suite[test] = verdict
        with open(f"{args.results}/{suite}.{mode}.new", "w") as file:
            json.dump(of_suite, file, indent=1)
        os.rename(f"{args.results}/{suite}.{mode}.new", f"{args.results}/{suite}.{mode}.json")

    run_suite(program, mode, wanted, args, keep)


def main():
    parser = argparse.ArgumentParser(prog="cts")
    parser.add_argument("top")
    parser.add_argument("folder")
    parser.add_argument("--suites")
    parser.add_argument("--modes", default=",".join(MODES))
    parser.add_argument("--tests")
    parser.add_argument("--limit", type=int, default=60)
    parser.add_argument("--results", default="cts-results")
    parser.add_argument("--again", action="store_true")
    parser.add_argument("--table", action="store_true", help="only print what is in --results")
    args = parser.parse_args()
    os.makedirs(args.results, exist_ok=True)
    for name, program in () if args.table else programs(args).items():
        for mode in args.modes.split(","):
            run_mode(name, program, mode, args)
    suites = sorted(name.split(".")[0] for name in os.listdir(args.results) if name.endswith(".native.json"))
    results = {mode: {suite: load(args, suite, mode) for suite in suites} for mode in MODES}
    results = {mode: results[mode] for mode in results if mode == "native" or any(results[mode].values())}
    print_table(results)
    sys.exit(1 if print_differences(results) else 0)


main()
