/* A clock that is apart: read before libc's, it adds CLOCK_APART_S seconds to the time of day. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>
#include <time.h>

int clock_gettime(clockid_t which, struct timespec *told) {
    static int (*real)(clockid_t, struct timespec *);
    static long apart;
    if (!real) {
        const char *given = getenv("CLOCK_APART_S");
        apart = given ? atol(given) : 0;
        real = (int (*)(clockid_t, struct timespec *))dlsym(RTLD_NEXT, "clock_gettime");
    }
    int status = real(which, told);
    if (!status && which == CLOCK_REALTIME) told->tv_sec += apart;
    return status;
}
