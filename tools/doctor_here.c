/* Checks this machine: whether VOCL is complete, what the kernel and the limits allow, and whether drivers offer
 * devices. */
#include <CL/cl.h>
#include <arpa/inet.h>
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/statvfs.h>
#include <sys/uio.h>
#include <unistd.h>

#include "config.h"

#include "base/process.h"
#include "base/settings.h"
#include "tools/doctor.h"
#include "tools/tools.h"

#define PROBE_MS 60000
#define MPIEXEC_MS 10000
#define FILES_NEEDED 36 /* transport/launch/host.c */
#define FILES_ENOUGH 1024
#define SHM_NEEDED (16u << 20) /* two ranks of MPICH on one host take 8 MiB each */
#define LOCKED_NEEDED (64u << 20)

static bool whole = true;

bool doctor_is_whole(void)
{
    return whole;
}

/* Reads a file's first line, without its newline. */
static void read_line(const char *path, char *line, size_t size)
{
    FILE *file = fopen(path, "re");

    if (!file || !fgets(line, (int)size, file))
        *line = '\0';
    line[strcspn(line, "\n")] = '\0';
    if (file)
        fclose(file);
}

/* ---- VOCL's files ---- */

static void look_for(const char *folder, const char *name)
{
    char path[4096];

    snprintf(path, sizeof(path), "%s/%s", folder, name);
    if (!access(path, X_OK))
        return;
    whole = false;
    doctor_say(WRONG, "VOCL", "%s: %s; install VOCL anew, or set VOCL_LIBEXECDIR to the folder that has it", path,
               strerror(errno));
}

/* Loading a plugin also loads the library that it is for. */
static bool can_load(const char *folder, const char *name, const char *what, const char *remedy)
{
    char path[4096];

    snprintf(path, sizeof(path), "%s/vocl-%s.so", folder, name);
    if (dlopen(path, RTLD_LAZY | RTLD_LOCAL))
        return true;
    doctor_say(WRONG, what, "%s; %s", dlerror(), remedy);
    return false;
}

static void look_at_mpiexec(void)
{
    const char *given = settings_string(SETTING_MPIEXEC);
    char *words[] = {strdup(*given ? given : VOCL_MPIEXEC_OPENMPI), strdup("--version"), NULL};
    struct tried tried = doctor_try(words, NULL, 0, MPIEXEC_MS);

    tried.output[strcspn(tried.output, "\n")] = '\0';
    if (tried.status)
        doctor_say(WRONG, "mpiexec", "%s --version fails: %s; install Open MPI's, or name it in VOCL_MPIEXEC", words[0],
                   last_line(tried.errors));
    else
        doctor_say(FINE, "mpiexec", "%s: %s", words[0], last_line(tried.output));
    tried_free(&tried);
    free(words[0]);
    free(words[1]);
}

/* Checks TLS, which connects sessions to other hosts unless the settings say MPI. */
static void look_at_tls(const char *folder)
{
    const char *network = settings_string(SETTING_NETWORK);
    const bool asked = !strcmp(network, "tls") || !strcmp(network, "plain") || !strcmp(network, "ssh");
    const bool needed = asked || (*settings_string(SETTING_HOSTS) && strcmp(network, "mpi"));
    char path[4096];

    snprintf(path, sizeof(path), "%s/vocl-tls.so", folder);
    if (!needed && access(path, F_OK))
        doctor_say(NOTE, "TLS", "this VOCL was built without: no sessions to other hosts but by --network mpi");
    else if (can_load(folder, "tls", "TLS", "install libssl3, or a VOCL that was built with it, or use --network mpi"))
        doctor_say(FINE, "TLS", "available");
}

static void look_at_parts(void)
{
    const char *folder = settings_string(SETTING_LIBEXECDIR), *mpi = settings_string(SETTING_MPI);
    bool fine;

    look_for(folder, "vocl-proxy");
    look_for(folder, "vocl-launcher");
    free(library_path()); /* ends the program if there is none */
    if (whole)
        doctor_say(FINE, "VOCL", PACKAGE_VERSION ", in %s", folder);
    fine = can_load(folder, mpi, "MPI", "install that MPI's libraries, or choose the other by --mpi");
    if (fine)
        doctor_say(FINE, "MPI", "%s", mpi);
    if (!strcmp(mpi, "openmpi"))
        look_at_mpiexec();
    look_at_tls(folder);
}

/* ---- the kernel ---- */

static const char *container(void)
{
    static char line[256];
    const char *given = getenv("container");

    if (given && *given)
        return given;
    read_line("/run/systemd/container", line, sizeof(line));
    if (*line)
        return line;
    if (!access("/.dockerenv", F_OK))
        return "docker";
    return access("/run/.containerenv", F_OK) ? NULL : "podman";
}

/* Tries the system calls that a session on one host needs. Returns NULL, or what is refused: nested containers and
 * strict system call filters refuse some of it. */
static const char *refused(void)
{
    char from = 1, to = 0;
    struct iovec local = {&to, 1}, remote = {&from, 1};
    int memory = memfd_create("vocl-doctor", MFD_CLOEXEC), process = process_open(getpid()), ends[2];
    void *shared = memory < 0 || ftruncate(memory, 4096)
                       ? MAP_FAILED
                       : mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, memory, 0);
    const bool paired = !socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends);

    if (paired) {
        close(ends[0]);
        close(ends[1]);
    }
    if (process >= 0)
        close(process);
    if (memory >= 0)
        close(memory);
    if (shared == MAP_FAILED)
        return "memory without a name (memfd_create)";
    munmap(shared, 4096);
    if (process < 0)
        return "descriptors of processes (pidfd_open)";
    if (!paired)
        return "pairs of sockets (socketpair)";
    return process_vm_readv(getpid(), &local, 1, &remote, 1, 0) == 1 ? NULL
                                                                     : "reading another process (process_vm_readv)";
}

static void look_at_kernel(void)
{
    const char *kind = container(), *what = refused();
    char map[64] = "";

    read_line("/proc/self/uid_map", map, sizeof(map));
    if (access("/proc/self/fd", X_OK)) {
        doctor_say(WRONG, "/proc", "MPI needs it, and it is not mounted: mount -t proc proc /proc");
        return;
    }
    if (access("/sys/devices/system/cpu", X_OK))
        doctor_say(WRONG, "/sys",
                   "drivers look there for the machine, PoCL dies without, and it is not mounted: "
                   "mount -t sysfs sysfs /sys");
    if (what)
        doctor_say(WRONG, "kernel", "%s is refused%s%s; let the container, or its filter of system calls, allow it",
                   what, kind ? " in a container of " : "", kind ? kind : "");
    else
        doctor_say(FINE, "kernel", "%s%s%s", kind ? "a container of " : "no container", kind ? kind : "",
                   strstr(map, "4294967295") ? "" : ", in a user namespace");
}

static void look_at_loopback(void)
{
    struct sockaddr_in own = {.sin_family = AF_INET, .sin_port = htons(9), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    const bool needed = !strcmp(settings_string(SETTING_MPI), "openmpi");
    int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

    if (fd >= 0 && !connect(fd, (struct sockaddr *)&own, sizeof(own)))
        doctor_say(FINE, "loopback", "up");
    else
        doctor_say(needed ? WRONG : NOTE, "loopback", "it is down%s: ip link set lo up",
                   needed ? ", and Open MPI needs it" : ", with which Open MPI and pools do not work");
    if (fd >= 0)
        close(fd);
}

/* ---- limits ---- */

static void show_limit(rlim_t limit, char text[32])
{
    if (limit == RLIM_INFINITY)
        snprintf(text, 32, "any number of");
    else
        snprintf(text, 32, "%llu", (unsigned long long)limit);
}

static void look_at_limits(void)
{
    struct rlimit files = {0}, locked = {0}, addresses = {0};
    const bool verbs = !access("/dev/infiniband", F_OK);
    char text[32];

    getrlimit(RLIMIT_NOFILE, &files);
    getrlimit(RLIMIT_MEMLOCK, &locked);
    getrlimit(RLIMIT_AS, &addresses);
    show_limit(files.rlim_max, text);
    if (files.rlim_max < FILES_NEEDED)
        doctor_say(WRONG, "open files", "at most %s, and a worker needs %d: ulimit -Hn, or limits.conf(5)", text,
                   FILES_NEEDED);
    else
        doctor_say(files.rlim_max < FILES_ENOUGH ? NOTE : FINE, "open files", "%s may be open%s", text,
                   files.rlim_max < FILES_ENOUGH ? ", which is few for many workers: ulimit -Hn" : "");
    if (verbs && locked.rlim_cur < LOCKED_NEEDED)
        doctor_say(WRONG, "locked memory",
                   "%llu KiB, which is too little for this machine's InfiniBand: ulimit -l unlimited",
                   (unsigned long long)locked.rlim_cur >> 10);
    else
        doctor_say(FINE, "locked memory", "%s", verbs ? "enough for InfiniBand" : "not needed: no InfiniBand here");
    if (addresses.rlim_cur != RLIM_INFINITY)
        doctor_say(NOTE, "address space",
                   "only %llu MiB: memory is shared with workers up to a quarter of that; ulimit -v",
                   (unsigned long long)addresses.rlim_cur >> 20);
}

static void look_at_memory(void)
{
    struct statvfs shm;
    unsigned long long room;
    char huge[64] = "", most[32] = "";

    if (statvfs("/dev/shm", &shm)) {
        doctor_say(WRONG, "/dev/shm", "%s; mount -t tmpfs none /dev/shm", strerror(errno));
    } else {
        room = (unsigned long long)shm.f_bavail * shm.f_frsize;
        if (room < SHM_NEEDED || access("/dev/shm", W_OK))
            doctor_say(WRONG, "/dev/shm",
                       "%llu KiB to write to, and MPI programs want some 8 MiB for each rank: mount -o remount,size=1G "
                       "/dev/shm (docker run --shm-size)",
                       access("/dev/shm", W_OK) ? 0ull : room >> 10);
        else
            doctor_say(FINE, "/dev/shm", "%llu MiB free", room >> 20);
    }
    read_line("/sys/fs/cgroup/memory.max", most, sizeof(most));
    if (*most && strcmp(most, "max") && strtoull(most, NULL, 10) >> 30 == 0)
        doctor_say(NOTE, "memory", "the control group has %llu MiB: compilers of kernels take some 200",
                   strtoull(most, NULL, 10) >> 20);
    read_line("/sys/kernel/mm/transparent_hugepage/shmem_enabled", huge, sizeof(huge));
    if (strstr(huge, "[never]") || strstr(huge, "[deny]") || !*huge)
        doctor_say(NOTE, "huge pages",
                   "none for shared memory: large buffers map faster with `advise' in "
                   "/sys/kernel/mm/transparent_hugepage/shmem_enabled");
    else
        doctor_say(FINE, "huge pages", "for shared memory: %s", huge);
}

/* PoCL and other drivers cache compiled kernels in the user's home, and may fail without it. */
static void look_at_cache(void)
{
    const char *home = getenv("HOME");
    struct statvfs disk;

    if (!home || access(home, W_OK))
        doctor_say(NOTE, "home", "%s cannot be written: drivers compile each kernel anew (POCL_CACHE_DIR)",
                   home ? home : "no HOME, so it");
    else if (!statvfs(home, &disk) && (unsigned long long)disk.f_bavail * disk.f_frsize < 16u << 20)
        doctor_say(NOTE, "home", "%s is full: drivers compile each kernel anew, or fail (POCL_CACHE_DIR)", home);
}

/* ---- drivers ---- */

/* Mesa's rusticl offers most devices only if they are asked for. */
static void look_at_rusticl(const char *library)
{
    const char *enabled = getenv("RUSTICL_ENABLE");

    if (strstr(library, "libRusticlOpenCL") && !(enabled && *enabled))
        doctor_say(
            NOTE, "driver",
            "%s gives most devices only where RUSTICL_ENABLE names their driver (radeonsi, iris, llvmpipe, ...): "
            "set it on the host that has them",
            library);
}

/* Tries to load the library that an .icd file names. */
static bool look_at_icd(const char *folder, const char *name)
{
    char path[4096], library[4096], said[512];

    snprintf(path, sizeof(path), "%s/%s", folder, name);
    read_line(path, library, sizeof(library));
    if (strstr(library, "libvocl"))
        return false;
    if (*library && dlopen(library, RTLD_LAZY | RTLD_LOCAL)) {
        look_at_rusticl(library);
        return true;
    }
    snprintf(said, sizeof(said), "%s", *library ? dlerror() : "it names no library");
    doctor_say(WRONG, "driver", "%s: %s; install that driver anew, or remove the file", path, said);
    return false;
}

static unsigned look_at_icds(const char *folder)
{
    DIR *directory = opendir(folder);
    unsigned count = 0;

    for (struct dirent *at; directory && (at = readdir(directory));) {
        const char *dot = strrchr(at->d_name, '.');

        if (dot && !strcmp(dot, ".icd"))
            count += look_at_icd(folder, at->d_name);
    }
    if (directory)
        closedir(directory);
    return count;
}

/* ocl-icd 2.3.3 moves the functions of drivers of cl_khr_icd 2.0 in memory when it finds another driver. */
static void look_at_loader(const char *loader)
{
    doctor_say(FINE, "loader", "%s", loader);
    if (strstr(loader, " 2.3.3"))
        doctor_say(
            NOTE, "loader",
            "this version crashes with several drivers if one of them has cl_khr_icd 2.0: let OCL_ICD_VENDORS name "
            "a folder with one driver");
}

/* Handles a line of `vocl-proxy --probe`. Returns whether it describes a device. */
static bool look_at_probed(const char *line)
{
    if (!strncmp(line, "loader ", 7))
        look_at_loader(line + 7);
    else if (!strncmp(line, "driver ", 7))
        doctor_say(FINE, "driver", "%s", line + 7);
    else
        return strncmp(line, "tree ", 5) != 0;
    return false;
}

/* Counts the drivers' devices, in the same way as a worker. */
static void look_at_devices(unsigned drivers, const char *where)
{
    char path[4096], mode[] = "--probe", *words[] = {path, mode, NULL}, *save = NULL;
    struct tried tried;
    unsigned devices = 0;

    snprintf(path, sizeof(path), "%s/vocl-proxy", settings_string(SETTING_LIBEXECDIR));
    tried = doctor_try(words, NULL, 0, PROBE_MS);
    for (char *line = strtok_r(tried.output, "\n", &save); line; line = strtok_r(NULL, "\n", &save))
        devices += look_at_probed(line);
    if (tried.status)
        doctor_say(WRONG, "devices", "asking the drivers in %s ended with %d: %s; take them out of there one by one",
                   where, tried.status, last_line(tried.errors));
    else if (devices)
        doctor_say(FINE, "devices", "%u, of the drivers in %s, in %.0f ms", devices, where, tried.ms);
    else if (!drivers)
        doctor_say(WRONG, "driver", "none in %s: install your device's OpenCL driver, or pocl-opencl-icd for the CPU",
                   where);
    else
        doctor_say(WRONG, "devices",
                   "the drivers in %s give none: is the device there (lspci), its module loaded, and may you open it "
                   "(groups video, render)?",
                   where);
    tried_free(&tried);
}

static void look_at_drivers(void)
{
    const char *native = getenv("VOCL_NATIVE_ICD_VENDORS"), *where;

    if (native && *native)
        setenv("OCL_ICD_VENDORS", native, 1);
    else if (native)
        unsetenv("OCL_ICD_VENDORS");
    where = getenv("OCL_ICD_VENDORS");
    if (!where || !*where)
        where = "/etc/OpenCL/vendors";
    look_at_devices(look_at_icds(where), where);
}

/* Whether this host has workers: a host that only runs programs needs no devices of its own. */
static bool has_workers(void)
{
    const char *pool = settings_string(SETTING_POOL);
    const bool elsewhere = *settings_string(SETTING_HOSTS) || (*pool && strcmp(pool, "none"));

    return !elsewhere || settings_number(SETTING_LOCAL);
}

void doctor_look_here(void)
{
    look_at_parts();
    look_at_kernel();
    look_at_loopback();
    look_at_limits();
    look_at_memory();
    look_at_cache();
    if (whole && has_workers())
        look_at_drivers();
}
