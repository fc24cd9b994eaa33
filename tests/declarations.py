"""
What headers, comments and documents say of files is true. A heading in a header, such as "---- bell.c: ... ----", is over
what that file defines; what is declared is defined somewhere; files that are named exist.

declarations.py TOP: prints what is not so.
"""
import os
import re
import sys

FOLDERS = ("base wire transport client libvocl executor pool proxy ground xtq mpi devcom topology tools include examples benchmarks "
           "tests doc etc").split()

# What is not of this tree, or is made in building it.
FOREIGN = {"mpi.h", "cl.h", "cl_ext.h", "config.h", "opencl.h", "CL/cl.h", "CL/opencl.h", "dlfcn.h"}

# Functions of drivers and of the ICD loader, which Debian's headers do not declare.
NATIVE = {"clSetKernelArgDevicePointerEXT", "clSetContentSizeBufferPoCL", "clIcdGetPlatformIDsKHR"}

# Headers that begin with a map of their folder.
MAPS = ("client/client.h mpi/intercept.h pool/channel.h proxy/daemon/daemon.h proxy/launch/ranks.h proxy/worker/worker.h tools/tools.h "
        "topology/topology.h transport/transport.h").split()

HEADING = re.compile(r"/\* ---- (.*?)(?: ----|:|$)", re.M)
NAMED = re.compile(r"(?<![\w/.$*<-])((?:[\w-]+/)*[a-z][\w-]*\.(?:[ch]|sh|py|def|cl))\b(?![\w(*])")


def blank(match):
    return re.sub(r"[^\n]", " ", match.group())


def code(text):
    """The text without comments, strings and lines of the preprocessor, with everything else where it was."""
    text = re.sub(r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])+\'', blank, text, flags=re.S)
    return re.sub(r"^[ \t]*#(?:[^\n]*\\\n)*[^\n]*", blank, text, flags=re.M)


def statements(text):
    """What stands outside of all braces: where it begins, the words, and whether a body follows."""
    depth, begin = 0, 0
    for at, letter in enumerate(text):
        if letter == "{":
            if depth == 0:
                yield begin, text[begin:at], True
            depth += 1
        elif letter == "}":
            depth = max(depth - 1, 0)
            begin = at + 1
        elif letter == ";" and depth == 0:
            yield begin, text[begin:at], False
            begin = at + 1


def function(words):
    """The name of the function that is declared or defined there, or None."""
    words = re.sub(r"__attribute__\s*\(\(.*?\)\)", "", words, flags=re.S).strip()
    match = re.match(r"(?!typedef|struct \w+$)[\w\s*]*?\b(\w+)\s*\(", words, re.S)
    if not match or "=" in words or match.group(1) in ("sizeof", "_Static_assert", "defined"):
        return None
    return match.group(1) if re.search(r"[\w*]\s+\*?\w+\s*\(", words) else None


def definitions(text):
    return {name for _, words, body in statements(code(text)) if body and (name := function(words))}


def tree(top):
    """Every file, as a path from the top."""
    found = [file for file in os.listdir(top) if file.endswith(".md")]
    for folder in FOLDERS:
        for where, _, files in os.walk(os.path.join(top, folder)):
            found += [os.path.relpath(os.path.join(where, file), top) for file in files]
    return sorted(found)


def headings(text):
    """Where one begins, and the files that it names."""
    return [(match.start(), re.findall(r"\b\w+\.c\b", match.group(1))) for match in HEADING.finditer(text)]


def check_header(path, text, defined):
    folder, marks = os.path.dirname(path), headings(text)
    plain = code(text)
    for begin, words, body in statements(plain):
        name = None if body or "static" in words.split() else function(words)
        if not name:
            continue
        at = begin + len(words) - len(words.lstrip())
        over = [named for where, named in marks if where < at]
        homes = {file for file, names in defined.items() if f"{os.path.dirname(file)}/".startswith(f"{folder}/") and name in names}
        if not homes and name not in NATIVE:
            yield f"{path}: {name}() is declared, and defined nowhere"
        elif over and over[-1] and not {f"{folder}/{file}" for file in over[-1]} & homes:
            yield f"{path}: {name}() stands under {' and '.join(over[-1])}, and is defined in {' and '.join(sorted(homes))}"


def check_names(path, text, files, bases):
    if path.endswith((".c", ".h")):
        text = "\n".join(re.findall(r"/\*.*?\*/|//[^\n]*", text, re.S))
    for name in set(NAMED.findall(text)):
        there = {name, os.path.join(os.path.dirname(path), name)} & files if "/" in name else name in bases
        if not there and name not in FOREIGN:
            yield f"{path} names {name}, which does not exist"


def check_map(path, text, files):
    first = text[: text.index("*/")]
    for file in files:
        if os.path.dirname(file) == os.path.dirname(path) and file.endswith(".c"):
            if not re.search(rf"\b{re.escape(os.path.basename(file))}", first):
                yield f"{path} begins with a map of its folder, and leaves out {os.path.basename(file)}"


def main(top):
    files = tree(top)
    texts = {}
    for file in files:
        if file.endswith((".c", ".h", ".md")):
            with open(os.path.join(top, file), encoding="utf-8") as source:
                texts[file] = source.read()
    bases = {os.path.basename(file) for file in files}
    defined = {file: definitions(text) for file, text in texts.items() if file.endswith(".c")}
    for path, text in texts.items():
        if path.endswith(".h") and path.split("/")[0] not in ("tests", "examples", "include", "wire"):
            found = list(check_header(path, text, defined))
        else:
            found = []
        if path in MAPS:
            found += check_map(path, text, files)
        for line in found + list(check_names(path, text, set(files), bases)):
            print(line)


if __name__ == "__main__":
    main(*sys.argv[1:])
