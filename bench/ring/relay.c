// A plain way from a rank by a relay to a reader: what a manager is held against that has a ring on one side
// and TCP on the other. The rank copies messages to shared memory, the relay writes them to a socket from
// where they lie, the reader reads them.
// relay MESSAGE CAPACITY MESSAGES STEP: bytes of a message and of the memory, how many messages, bytes after
// which the relay is told; a step divides the others. Prints what it took as JSON.
//
// Nothing is framed, summed, checked or confirmed: two positions, a copy, and what the system does.
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <linux/futex.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

// Positions are counted in steps.
struct words {
    _Alignas(128) _Atomic uint32_t written;
    _Alignas(128) _Atomic uint32_t sent;
    _Alignas(128) _Atomic uint32_t ready;
    _Alignas(128) double cpu[2];
};

enum { HEADER = 4096, READ = 256 << 10 };

static struct words *words;
static char *memory;
static size_t message, step;
static uint32_t capacity, messages;

static double clock_of(clockid_t clock) {
    struct timespec now;
    clock_gettime(clock, &now);
    return now.tv_sec + now.tv_nsec * 1e-9;
}

static uint32_t least(uint32_t a, uint32_t b) { return a < b ? a : b; }

static void wait_beyond(_Atomic uint32_t *word, uint32_t seen) {
    syscall(SYS_futex, word, FUTEX_WAIT, seen, NULL, NULL, 0);
}

static void tell(_Atomic uint32_t *word, uint32_t number) {
    atomic_store(word, number);
    syscall(SYS_futex, word, FUTEX_WAKE, 3, NULL, NULL, 0); // all who may wait
}

static void wait_for(_Atomic uint32_t *word, uint32_t number) {
    for (uint32_t seen; (seen = atomic_load(word)) < number;) wait_beyond(word, seen);
}

// As sockets of a driver are.
static void settle(int socket) {
    int one = 1;
    setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    setsockopt(socket, IPPROTO_TCP, TCP_CONGESTION, "cubic", sizeof "cubic" - 1);
}

static int rank(char *own) {
    for (uint32_t number = 0, at = 0; number < messages; number++) {
        memcpy(own, &number, sizeof number);
        for (size_t done = 0; done < message; done += step, at++) {
            for (uint32_t sent; at - (sent = atomic_load(&words->sent)) >= capacity;) wait_beyond(&words->sent, sent);
            memcpy(memory + at % capacity * step, own + done, step);
            tell(&words->written, at + 1);
        }
    }
    return 0;
}

static int relay(int socket) {
    uint32_t end = messages * (message / step);
    for (uint32_t at = 0; at < end;) {
        uint32_t written;
        while ((written = atomic_load(&words->written)) == at) wait_beyond(&words->written, at);
        // What lies there in one piece, a message at most.
        uint32_t steps = least(least(written - at, capacity - at % capacity), message / step);
        for (size_t done = 0; done < steps * step;) {
            ssize_t wrote = write(socket, memory + at % capacity * step + done, steps * step - done);
            if (wrote <= 0) return 1;
            done += wrote;
        }
        at += steps;
        tell(&words->sent, at);
    }
    char byte;
    return read(socket, &byte, 1) != 1;
}

static int take(int from, char *own) {
    for (uint32_t number = 0; number < messages; number++) {
        for (size_t done = 0; done < message;) {
            size_t left = message - done;
            ssize_t got = read(from, own + done, left < READ ? left : READ);
            if (got <= 0) return 1;
            done += got;
        }
        if (memcmp(own, &number, sizeof number) != 0) return 1;
    }
    return write(from, "x", 1) != 1;
}

// A process of the measurement: it is ready, then waits for the word to begin, and ends with this one.
static pid_t begin(int which, struct sockaddr_in *at) {
    pid_t process = fork();
    if (process != 0) return process;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    // Its own page tables.
    madvise(words, HEADER + capacity * step, MADV_POPULATE_WRITE);
    char *own = malloc(message);
    if (own == NULL) _exit(1);
    memset(own, 1, message);
    int to = -1;
    if (at != NULL) {
        to = socket(AF_INET, SOCK_STREAM, 0);
        settle(to);
        if (connect(to, (struct sockaddr *)at, sizeof *at) != 0) _exit(1);
    }
    tell(&words->ready, atomic_load(&words->ready) + 1);
    wait_for(&words->ready, 3);
    double cpu = clock_of(CLOCK_PROCESS_CPUTIME_ID);
    int status = at == NULL ? rank(own) : take(to, own);
    words->cpu[which] = clock_of(CLOCK_PROCESS_CPUTIME_ID) - cpu;
    _exit(status);
}

int main(int count, char **arguments) {
    if (count != 5) {
        fprintf(stderr, "usage: relay MESSAGE CAPACITY MESSAGES STEP\n");
        return 2;
    }
    message = strtoull(arguments[1], NULL, 10), step = strtoull(arguments[4], NULL, 10);
    capacity = strtoull(arguments[2], NULL, 10) / step, messages = strtoul(arguments[3], NULL, 10);
    signal(SIGPIPE, SIG_IGN);
    size_t size = HEADER + capacity * step;
    int file = memfd_create("relay", MFD_CLOEXEC);
    if (file < 0 || ftruncate(file, size) != 0) return perror("memory"), 1;
    words = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, file, 0);
    if (words == MAP_FAILED) return perror("memory"), 1;
    memory = (char *)words + HEADER;
    int listener = socket(AF_INET, SOCK_STREAM, 0);
    settle(listener);
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t length = sizeof at;
    if (bind(listener, (struct sockaddr *)&at, length) != 0 || listen(listener, 1) != 0) return perror("socket"), 1;
    if (getsockname(listener, (struct sockaddr *)&at, &length) != 0) return perror("socket"), 1;
    // One after the other, as each counts itself.
    pid_t reader = begin(0, &at);
    wait_for(&words->ready, 1);
    pid_t writer = begin(1, NULL);
    wait_for(&words->ready, 2);
    int socket = accept(listener, NULL, NULL);
    settle(socket);
    double since = clock_of(CLOCK_MONOTONIC), cpu = clock_of(CLOCK_PROCESS_CPUTIME_ID);
    tell(&words->ready, 3);
    int status = relay(socket);
    double seconds = clock_of(CLOCK_MONOTONIC) - since;
    cpu = clock_of(CLOCK_PROCESS_CPUTIME_ID) - cpu;
    if (status != 0) return 1; // and the others with it
    int of_reader, of_writer;
    if (waitpid(reader, &of_reader, 0) != reader || waitpid(writer, &of_writer, 0) != writer) return 1;
    if (of_reader != 0 || of_writer != 0) return 1;
    printf("{\"seconds\": %.9f, \"cpu_s\": %.9f}\n", seconds, cpu + words->cpu[0] + words->cpu[1]);
    return 0;
}
