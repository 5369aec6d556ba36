/* As many bytes as a square matrix of doubles has, written to one file and read again, and nothing else: each rank moves a
 * contiguous part of the file, a piece of 4 MiB at a time, from and to one buffer that stays in the cache. It is no
 * peer, but what is left of this machine once data are in order: nobody who hands them to the system by pwrite and pread
 * is faster.
 *
 * mpiexec -n 4 plain SIDE BLOCK RUNS PATH over|new: prints, run by run, lines "write SECONDS CPU" and "read SECONDS CPU",
 * from opening the file to having closed it: seconds of the slowest rank, CPU seconds of all. With "over" a file is
 * written over that is there already, with "new" each time a new one. BLOCK says nothing here. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <unistd.h>

#include "matrix.h"

static const size_t PIECE = 4 << 20;

static void move(int writes, const char *path, char *buffer, size_t whole, size_t first, size_t end, int told) {
    MPI_Barrier(MPI_COMM_WORLD);
    double begin = MPI_Wtime(), cpu = cpu_s();
    int file = open(path, writes ? O_CREAT | O_RDWR : O_RDONLY, 0644);
    if (file < 0) fail(path, "cannot be opened");
    if (writes && ftruncate(file, whole) != 0) fail(path, "no room");
    while (first < end) {
        size_t piece = end - first < PIECE ? end - first : PIECE;
        ssize_t done = writes ? pwrite(file, buffer, piece, first) : pread(file, buffer, piece, first);
        if (done <= 0) fail(path, writes ? "cannot be written" : "it is cut short");
        first += done;
    }
    if (close(file) != 0) fail(path, "cannot be closed");
    double took = MPI_Wtime() - begin;
    cpu = cpu_s() - cpu;
    if (told) tell(writes ? "write " : "read ", took, cpu);
    /* Nobody removes what another is about to open. */
    MPI_Barrier(MPI_COMM_WORLD);
}

int main(int count, char **words) {
    MPI_Init(&count, &words);
    int rank, size;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (count < 6) fail("arguments", "SIDE BLOCK RUNS PATH over|new");
    long side = number(words[1]), runs = number(words[3]);
    const char *path = words[4];
    int is_new = strcmp(words[5], "new") == 0;
    size_t whole = sizeof(double) * side * side, first = whole * rank / size, end = whole * (rank + 1) / size;
    char *buffer = memory(PIECE);
    memset(buffer, 1, PIECE);
    for (long run = 0; run <= runs; run++) {
        if (is_new && rank == 0) remove(path);
        move(1, path, buffer, whole, first, end, run > 0);
        move(0, path, buffer, whole, first, end, run > 0);
    }
    MPI_Finalize();
    return 0;
}
