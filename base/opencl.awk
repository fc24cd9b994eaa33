# Generates from opencl.def's rows what the C preprocessor cannot. usage: awk -v make=WHAT -f opencl.awk opencl.def
#
# versions  a linker script: the functions that libOpenCL exports, with their symbol versions
# direct    macros that call a driver's functions by the table at the start of their first argument
# table     "name version-or-extension", a line for each row
BEGIN { FS = "[(,)] *" }

function version(since) { return int(since / 100) "." since % 100 / 10 }

/^EXPORTED/ {
    exported[$4] = exported[$4] "    " $2 ";\n"
    if (make == "direct" && $3 != "none")
        printf "#define %s(...) DIRECT(%s, %s, __VA_ARGS__)\n", $2, $2, $3
    if (make == "table")
        print $2, version($4)
}

/^BY_NAME/ && make == "table" {
    gsub(/"/, "", $3)
    print $2, $3 ~ /^cl_/ ? $3 : "by name"
}

END {
    if (make != "versions")
        exit
    own = "local:\n    __start_per_process;\n    __stop_per_process;\n" # the linker's (client/core/per_process.h)
    for (since = 100; since <= 900; since += 10) {
        if (!(since in exported))
            continue
        printf "OPENCL_%s {\nglobal:\n%s%s}%s;\n", version(since), exported[since], before ? "" : own, before
        before = " OPENCL_" version(since)
    }
}
