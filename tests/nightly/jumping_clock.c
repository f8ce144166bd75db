/* Preloaded: clocks on the wall are JUMP_SECONDS ahead as soon as the file JUMP_FILE is there; monotonic ones go on. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

int clock_gettime(clockid_t clock, struct timespec *now) {
    static int (*kernels)(clockid_t, struct timespec *);
    if (!kernels)
        kernels = dlsym(RTLD_NEXT, "clock_gettime");
    int status = kernels(clock, now);
    const char *file = getenv("JUMP_FILE");
    if (clock == CLOCK_REALTIME && file && access(file, F_OK) == 0)
        now->tv_sec += atol(getenv("JUMP_SECONDS"));
    return status;
}

int gettimeofday(struct timeval *now, void *zone) {
    struct timespec exact;
    (void)zone;
    int status = clock_gettime(CLOCK_REALTIME, &exact);
    now->tv_sec = exact.tv_sec;
    now->tv_usec = exact.tv_nsec / 1000;
    return status;
}

time_t time(time_t *now) {
    struct timespec exact;
    clock_gettime(CLOCK_REALTIME, &exact);
    if (now)
        *now = exact.tv_sec;
    return exact.tv_sec;
}
