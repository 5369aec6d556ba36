// The plainest way from a rank by a relay to a reader: what any manager is held against that has a ring on
// one side and TCP on the other. The rank copies messages to slots of shared memory, the relay writes each
// to a socket from where it lies, the reader reads it.
// relay MESSAGE SLOTS MESSAGES: bytes of a message, how many fit into the memory, how many messages. Prints
// what it took as JSON.
//
// Nothing is framed, summed, checked or confirmed: two positions, a copy, and what the system does.
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <linux/futex.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

struct words {
    _Alignas(128) _Atomic uint32_t written;
    _Alignas(128) _Atomic uint32_t sent;
    _Alignas(128) double cpu[2];
};

enum { HEADER = 4096, STEP = 256 << 10 };

static struct words *words;
static char *slots;
static size_t message;
static uint32_t capacity, messages;

static double clock_of(clockid_t clock) {
    struct timespec now;
    clock_gettime(clock, &now);
    return now.tv_sec + now.tv_nsec * 1e-9;
}

static void wait_beyond(_Atomic uint32_t *word, uint32_t seen) {
    syscall(SYS_futex, word, FUTEX_WAIT, seen, NULL, NULL, 0);
}

static void tell(_Atomic uint32_t *word, uint32_t number) {
    atomic_store(word, number);
    syscall(SYS_futex, word, FUTEX_WAKE, 1, NULL, NULL, 0);
}

static char *slot(uint32_t number) { return slots + number % capacity * message; }

static int rank(void) {
    char *own = malloc(message);
    if (own == NULL) return 1;
    memset(own, 1, message);
    for (uint32_t number = 0; number < messages; number++) {
        uint32_t sent;
        while (number - (sent = atomic_load(&words->sent)) >= capacity) wait_beyond(&words->sent, sent);
        memcpy(own, &number, sizeof number);
        memcpy(slot(number), own, message);
        tell(&words->written, number + 1);
    }
    return 0;
}

static int relay(int socket) {
    for (uint32_t number = 0; number < messages; number++) {
        while (atomic_load(&words->written) == number) wait_beyond(&words->written, number);
        for (size_t done = 0; done < message;) {
            ssize_t wrote = write(socket, slot(number) + done, message - done);
            if (wrote <= 0) return 1;
            done += wrote;
        }
        tell(&words->sent, number + 1);
    }
    char byte;
    return read(socket, &byte, 1) != 1;
}

static int take(struct sockaddr_in at) {
    int to = socket(AF_INET, SOCK_STREAM, 0);
    char *own = malloc(message);
    if (to < 0 || own == NULL || connect(to, (struct sockaddr *)&at, sizeof at) != 0) return 1;
    for (uint32_t number = 0; number < messages; number++) {
        for (size_t done = 0; done < message;) {
            size_t left = message - done;
            ssize_t got = read(to, own + done, left < STEP ? left : STEP);
            if (got <= 0) return 1;
            done += got;
        }
        if (memcmp(own, &number, sizeof number) != 0) return 1;
    }
    return write(to, "x", 1) != 1;
}

static void end(int which, int status) {
    words->cpu[which] = clock_of(CLOCK_PROCESS_CPUTIME_ID);
    _exit(status);
}

int main(int count, char **arguments) {
    if (count != 4) {
        fprintf(stderr, "usage: relay MESSAGE SLOTS MESSAGES\n");
        return 2;
    }
    message = strtoull(arguments[1], NULL, 10);
    capacity = strtoul(arguments[2], NULL, 10), messages = strtoul(arguments[3], NULL, 10);
    size_t size = HEADER + capacity * message;
    int file = memfd_create("relay", MFD_CLOEXEC);
    if (file < 0 || ftruncate(file, size) != 0) return perror("memory"), 1;
    words = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, file, 0);
    if (words == MAP_FAILED) return perror("memory"), 1;
    slots = (char *)words + HEADER;
    int listener = socket(AF_INET, SOCK_STREAM, 0);
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t length = sizeof at;
    if (bind(listener, (struct sockaddr *)&at, length) != 0 || listen(listener, 1) != 0) return perror("socket"), 1;
    if (getsockname(listener, (struct sockaddr *)&at, &length) != 0) return perror("socket"), 1;
    pid_t reader = fork();
    if (reader == 0) end(0, take(at));
    int socket = accept(listener, NULL, NULL);
    double begin = clock_of(CLOCK_MONOTONIC), cpu = clock_of(CLOCK_PROCESS_CPUTIME_ID);
    pid_t writer = fork();
    if (writer == 0) end(1, rank());
    int status = relay(socket);
    double seconds = clock_of(CLOCK_MONOTONIC) - begin;
    cpu = clock_of(CLOCK_PROCESS_CPUTIME_ID) - cpu;
    int of_reader, of_writer;
    if (waitpid(reader, &of_reader, 0) != reader || waitpid(writer, &of_writer, 0) != writer) return 1;
    if (status != 0 || of_reader != 0 || of_writer != 0) return 1;
    printf("{\"seconds\": %.9f, \"cpu_s\": %.9f}\n", seconds, cpu + words->cpu[0] + words->cpu[1]);
    return 0;
}
