# VOCL_CHECK_MPI(VARIABLE, NAME, MACRO)
# Finds the compiler wrapper and the mpiexec of one MPI implementation, which distributions with several implementations
# install as mpicc.NAME and mpiexec.NAME, and sets MPICC_VARIABLE, MPIEXEC_VARIABLE, VARIABLE_CFLAGS and VARIABLE_LIBS.
# MACRO is defined in that implementation's mpi.h and in no other. If something is not found, they are empty, and
# VARIABLE_missing says why.
# The flags are extracted from the wrapper, which is not itself used as compiler, because libtool runs one compiler.
AC_DEFUN([VOCL_CHECK_MPI], [
AC_ARG_VAR([MPICC_$1], [compiler wrapper of $2])
AC_ARG_VAR([MPIEXEC_$1], [mpiexec of $2])
AC_PATH_PROGS([MPICC_$1], [mpicc.$2 mpicc])
AC_PATH_PROGS([MPIEXEC_$1], [mpiexec.$2 mpiexec])
AS_IF([test -z "$MPICC_$1" || test -z "$MPIEXEC_$1"],
    [$1_missing="no $2: set MPICC_$1 and MPIEXEC_$1"],
    [VOCL_MPI_FLAGS([$1], [$2], [$3])])
AS_IF([test -n "$$1_missing"], [MPICC_$1= MPIEXEC_$1= $1_CFLAGS= $1_LIBS=])
AC_SUBST([$1_CFLAGS])
AC_SUBST([$1_LIBS])
])

# VOCL_MPI_FLAGS(VARIABLE, NAME, MACRO): takes the flags from the wrapper, if it belongs to this MPI.
AC_DEFUN([VOCL_MPI_FLAGS], [
for word in $($MPICC_$1 -show); do
    AS_CASE([$word],
        [-I*|-D*],               [$1_CFLAGS="$$1_CFLAGS $word"],
        [-L*|-l*|-Wl,*|-pthread], [$1_LIBS="$$1_LIBS $word"])
done
AC_MSG_CHECKING([whether $MPICC_$1 is $2])
vocl_save_CPPFLAGS=$CPPFLAGS
CPPFLAGS="$CPPFLAGS $$1_CFLAGS"
AC_COMPILE_IFELSE([AC_LANG_SOURCE([[
#include <mpi.h>
#ifndef $3
#error "another MPI"
#endif
]])], [AC_MSG_RESULT([yes])],
    [AC_MSG_RESULT([no])
     $1_missing="$MPICC_$1 does not compile for $2: set MPICC_$1"])
CPPFLAGS=$vocl_save_CPPFLAGS
])

# VOCL_OPTIONAL(VARIABLE, MODULES, WANTED, WHAT): finds pkg-config's modules of an optional part. WANTED is the shell
# variable of its option: no leaves the part out, yes makes missing modules an error, and auto, which becomes yes or no,
# reports them at the end.
AC_DEFUN([VOCL_OPTIONAL], [
AS_IF([test "$$3" != no], [PKG_CHECK_MODULES([$1], [$2], [],
    [AS_IF([test "$$3" = yes], [AC_MSG_ERROR([$4 needs $2, of which something was not found])])
     $3=no
     VOCL_LEFT_OUT([$4 ($2)])])])
])

# VOCL_OPTIONAL_HEADER(HEADER, WANTED, WHAT): the same for a part that needs a header and no library.
AC_DEFUN([VOCL_OPTIONAL_HEADER], [
AS_IF([test "$$2" != no], [AC_CHECK_HEADER([$1], [],
    [AS_IF([test "$$2" = yes], [AC_MSG_ERROR([$3 needs $1])])
     $2=no
     VOCL_LEFT_OUT([$3 ($1)])])])
])
AC_DEFUN([VOCL_LEFT_OUT], [left_out="${left_out:+$left_out; }$1"])
