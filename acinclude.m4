# VOCL_CHECK_MPI(VARIABLE, NAME, MACRO)
# Finds the compiler wrapper and the mpiexec of one MPI implementation, which distributions that carry several of
# them install as mpicc.NAME and mpiexec.NAME, and sets MPICC_VARIABLE, MPIEXEC_VARIABLE, VARIABLE_CFLAGS and
# VARIABLE_LIBS. MACRO is defined in that implementation's mpi.h and in no other.
# The flags are taken out of the wrapper, rather than the wrapper used as compiler, because libtool runs one compiler.
AC_DEFUN([VOCL_CHECK_MPI], [
AC_ARG_VAR([MPICC_$1], [compiler wrapper of $2])
AC_ARG_VAR([MPIEXEC_$1], [mpiexec of $2])
AC_PATH_PROGS([MPICC_$1], [mpicc.$2 mpicc])
AC_PATH_PROGS([MPIEXEC_$1], [mpiexec.$2 mpiexec])
AS_IF([test -z "$MPICC_$1" || test -z "$MPIEXEC_$1"],
    [AC_MSG_ERROR([$2 was not found; set MPICC_$1 and MPIEXEC_$1, or choose another --with-mpi])])
for word in $($MPICC_$1 -show); do
    AS_CASE([$word],
        [-I*|-D*],               [$1_CFLAGS="$$1_CFLAGS $word"],
        [-L*|-l*|-Wl,*|-pthread], [$1_LIBS="$$1_LIBS $word"])
done
AC_SUBST([$1_CFLAGS])
AC_SUBST([$1_LIBS])
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
     AC_MSG_ERROR([$MPICC_$1 does not compile for $2; set MPICC_$1])])
CPPFLAGS=$vocl_save_CPPFLAGS
])
