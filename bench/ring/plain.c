// A plain ring in shared memory between two processes: what ours is held against.
// plain MESSAGE CAPACITY MESSAGES STEP: bytes of a message and of the ring (a power of two), how many
// messages, bytes after which the other side is told. Prints what it took as JSON.
//
// Nothing is checked, nobody sleeps, nobody ends: two positions and two copies.
#define _GNU_SOURCE
#include <sched.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

struct words {
    _Alignas(128) _Atomic uint64_t tail;
    _Alignas(128) _Atomic uint64_t head;
    _Alignas(128) _Atomic uint64_t ready;
    _Alignas(128) double reader_cpu;
};

enum { HEADER = 4096, LOOKS = 1000 };

static struct words *words;
static char *data;
static uint64_t capacity, step;

static double clock_of(clockid_t clock) {
    struct timespec now;
    clock_gettime(clock, &now);
    return now.tv_sec + now.tv_nsec * 1e-9;
}

static inline void look_again(int *looks) {
    if (++*looks < LOOKS) {
#if defined(__x86_64__)
        __builtin_ia32_pause();
#endif
    } else {
        *looks = 0;
        sched_yield();
    }
}

static inline uint64_t least(uint64_t a, uint64_t b) { return a < b ? a : b; }

static void send_message(uint64_t *tail, uint64_t *seen, const char *from, uint64_t left) {
    while (left > 0) {
        uint64_t piece = least(least(left, step), capacity);
        for (int looks = 0; capacity - (*tail - *seen) < piece; look_again(&looks))
            *seen = atomic_load_explicit(&words->head, memory_order_acquire);
        uint64_t at = *tail & (capacity - 1), first = least(piece, capacity - at);
        memcpy(data + at, from, first);
        memcpy(data, from + first, piece - first);
        *tail += piece, from += piece, left -= piece;
        atomic_store_explicit(&words->tail, *tail, memory_order_release);
    }
}

static void receive_message(uint64_t *head, uint64_t *seen, char *to, uint64_t left) {
    while (left > 0) {
        uint64_t piece = least(least(left, step), capacity);
        for (int looks = 0; *seen - *head < piece; look_again(&looks))
            *seen = atomic_load_explicit(&words->tail, memory_order_acquire);
        uint64_t at = *head & (capacity - 1), first = least(piece, capacity - at);
        memcpy(to, data + at, first);
        memcpy(to + first, data, piece - first);
        *head += piece, to += piece, left -= piece;
        atomic_store_explicit(&words->head, *head, memory_order_release);
    }
}

int main(int count, char **arguments) {
    if (count != 5) {
        fprintf(stderr, "usage: plain MESSAGE CAPACITY MESSAGES STEP\n");
        return 2;
    }
    uint64_t message = strtoull(arguments[1], NULL, 10);
    uint64_t messages = strtoull(arguments[3], NULL, 10);
    capacity = strtoull(arguments[2], NULL, 10), step = strtoull(arguments[4], NULL, 10);
    int file = memfd_create("plain", MFD_CLOEXEC);
    if (file < 0 || ftruncate(file, HEADER + capacity) != 0) return perror("memory"), 1;
    words = mmap(NULL, HEADER + capacity, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, file, 0);
    char *own = malloc(message);
    if (words == MAP_FAILED || own == NULL) return perror("memory"), 1;
    data = (char *)words + HEADER;
    memset(own, 1, message);
    uint64_t here = 0, there = 0;
    pid_t reader = fork();
    if (reader == 0) {
        // Its own page tables.
        madvise(words, HEADER + capacity, MADV_POPULATE_WRITE);
        memset(own, 2, message);
        atomic_store(&words->ready, 1);
        double cpu = clock_of(CLOCK_PROCESS_CPUTIME_ID);
        for (uint64_t number = 0; number < messages; number++) {
            receive_message(&here, &there, own, message);
            if (memcmp(own, &number, sizeof number) != 0) _exit(1);
        }
        words->reader_cpu = clock_of(CLOCK_PROCESS_CPUTIME_ID) - cpu;
        _exit(0);
    }
    while (atomic_load(&words->ready) == 0) sched_yield();
    double begin = clock_of(CLOCK_MONOTONIC), cpu = clock_of(CLOCK_PROCESS_CPUTIME_ID);
    for (uint64_t number = 0; number < messages; number++) {
        memcpy(own, &number, sizeof number);
        send_message(&here, &there, own, message);
    }
    for (int looks = 0; atomic_load_explicit(&words->head, memory_order_acquire) != here;)
        look_again(&looks);
    double seconds = clock_of(CLOCK_MONOTONIC) - begin;
    cpu = clock_of(CLOCK_PROCESS_CPUTIME_ID) - cpu;
    int status;
    if (waitpid(reader, &status, 0) != reader || status != 0) return 1;
    printf("{\"seconds\": %.9f, \"cpu_s\": %.9f}\n", seconds, cpu + words->reader_cpu);
    return 0;
}
