/* The first claim that is read is one that another machine of a network file system has just removed. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static int left = 1;

ssize_t read(int file, void *into, size_t most)
{
    ssize_t (*real)(int, void *, size_t) = dlsym(RTLD_NEXT, "read");
    char link[64], path[4096];
    snprintf(link, sizeof link, "/proc/self/fd/%d", file);
    ssize_t length = left ? readlink(link, path, sizeof path) : 0;
    if (length > 6 && memcmp(path + length - 6, ".claim", 6) == 0) {
        left = 0;
        errno = ESTALE;
        return -1;
    }
    return real(file, into, most);
}
