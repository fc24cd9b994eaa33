# A recipe for Spack. Put it into a repository of your own (spack repo create) as packages/vocl/package.py.
# Not tested with Spack itself: tests/recipes.sh runs it with a stand-in, and compares its options with configure's.
from spack.package import *


class Vocl(AutotoolsPackage):
    """OpenCL devices of other machines, for unmodified OpenCL programs, over MPI or TLS."""

    version("main", branch="main")

    variant("zstd", default=True, description="Compress bulk data on slow networks")
    variant("tls", default=True, description="Sessions over TLS, the default between hosts")
    variant("pool", default=True, description="Pools of devices: the daemon and its clients")
    variant("trace", default=True, description="Traces and reports of programs")
    variant("munge", default=True, when="+pool", description="Authentication by MUNGE")

    variant("avahi", default=False, when="+pool", description="Discovery of pools in a local network")
    variant("slurm", default=False, when="+pool", description="Slurm's plugin for devices of a pool")

    variant("kubernetes", default=False, when="+pool", description="Kubernetes' device plugin for devices of a pool")

    depends_on("c", type="build")
    depends_on("autoconf", type="build")
    depends_on("automake", type="build")
    depends_on("libtool", type="build")
    depends_on("pkgconfig", type="build")
    depends_on("mpich")
    depends_on("opencl-c-headers")
    depends_on("ocl-icd")
    depends_on("hwloc@2:")
    depends_on("openssl@3:", when="+tls")
    depends_on("zstd", when="+zstd")
    depends_on("jansson", when="+pool")
    depends_on("jansson", when="+trace")
    depends_on("elfutils", when="+trace")
    depends_on("libsodium", when="+pool")
    depends_on("ncurses", when="+pool")
    depends_on("libevent", when="+pool")
    depends_on("libconfig", when="+pool")
    depends_on("libmicrohttpd", when="+pool")
    depends_on("munge", when="+munge")
    depends_on("slurm", when="+slurm")
    depends_on("avahi", when="+avahi")
    depends_on("grpc", when="+kubernetes")
    depends_on("protobuf-c", when="+kubernetes")

    def autoreconf(self, spec, prefix):
        Executable("./autogen.sh")()

    def configure_args(self):
        args = [
            "--with-mpi=mpich",
            f"MPICC_MPICH={self.spec['mpich'].prefix.bin.mpicc}",
            f"MPIEXEC_MPICH={self.spec['mpich'].prefix.bin.mpiexec}",
        ]
        args += self.with_or_without("tls")
        args += self.with_or_without("zstd")
        args += self.enable_or_disable("pool")
        args += self.enable_or_disable("trace")
        args.append("--with-elfutils" if self.spec.satisfies("+trace") else "--without-elfutils")
        if self.spec.satisfies("+pool"):
            args += self.with_or_without("munge")
            args += self.with_or_without("slurm")
            args += self.with_or_without("avahi")
            args += self.with_or_without("kubernetes")
        return args
