"""
documents.py TOP: checks what documents say of files and functions, and prints each error.

Links and their anchors exist, each page and picture is installed, and named functions are in the source.
"""
import os
import re
import sys

FOREIGN = {"closefrom", "main", "fork", "exec", "exit", "mmap", "poll", "dlopen", "dlclose", "setenv", "getenv", "malloc", "free", "printf"}
SOURCES = (".c", ".h", ".def", ".py", ".cl", ".sh", ".in")


def files(top, endings):
    for folder, folders, names in os.walk(top):
        folders[:] = [f for f in folders if not f.startswith(".") and f != "autom4te.cache"
                      and not os.path.exists(os.path.join(folder, f, "config.status"))]
        for name in names:
            if name.endswith(endings):
                yield os.path.join(folder, name)


def anchors(text):
    """The anchors of the headings, as GitHub makes them."""
    for heading in re.findall(r"^#+ (.*)$", text, re.M):
        yield re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")


def main(top):
    top, bad = os.path.abspath(top), 0

    def say(*words):
        nonlocal bad
        bad += 1
        print(*words)

    pages = {path: open(path).read() for path in files(top, (".md",))}
    source = "\n".join(open(path, errors="replace").read() for path in files(top, SOURCES))
    names = set(re.findall(r"\b\w+\b", source))
    installed = open(os.path.join(top, "doc/Makefile.inc")).read().replace("\\\n", " ").split()
    for path, text in pages.items():
        short = os.path.relpath(path, top)
        for target in re.findall(r"\]\(([^)\s]+)\)", text):
            if target.startswith(("http:", "https:")):
                continue
            file, _, anchor = target.partition("#")
            place = os.path.normpath(os.path.join(os.path.dirname(path), file)) if file else path
            if not os.path.exists(place):
                say(f"{short}: {target} is not there")
            elif anchor and anchor not in anchors(pages.get(place, "")):
                say(f"{short}: {target} has no such heading")
        for name in re.findall(r"`([a-z]\w+)\(\)`", text):
            if name not in names and name not in FOREIGN and "NAME" not in name:
                say(f"{short}: there is no {name}()")
        if short.startswith("doc/") and short not in installed:
            say(f"{short} is not installed")
        for picture in re.findall(r"\]\(([^)\s]+\.svg)\)", text):
            place = os.path.relpath(os.path.normpath(os.path.join(os.path.dirname(path), picture)), top)
            if place not in installed:
                say(f"{short}: {place} is not installed")
    return bad


sys.exit(main(sys.argv[1]) > 0)
