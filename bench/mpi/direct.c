/* A matrix of doubles in blocks of columns that go round the ranks, written to one file row by row without any
 * reshuffling: each rank writes each of its blocks where it belongs.
 *
 * mpiexec -n 4 direct SIDE BLOCK RUNS PATH: prints, run by run, "write SECONDS CPU", from opening a new file to having
 * closed it: seconds of the slowest rank, CPU seconds of all. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <unistd.h>

#include "matrix.h"

int main(int count, char **words) {
    MPI_Init(&count, &words);
    if (count != 5) fail("arguments", "SIDE BLOCK RUNS PATH are wanted");
    long side = number(words[1]), block = number(words[2]), runs = number(words[3]);
    const char *path = words[4];
    int rank, size;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    long columns = held(side, block, size, rank);
    double *mine = memory(sizeof(double) * side * columns);
    for (long i = 0; i < side; i++)
        for (long j = 0; j < columns; j++) mine[i * columns + j] = i * (double)side + whole(j, block, size, rank);
    for (long run = 0; run <= runs; run++) {
        if (rank == 0) unlink(path);
        MPI_Barrier(MPI_COMM_WORLD);
        double begin = MPI_Wtime(), cpu = cpu_s();
        int file = open(path, O_WRONLY | O_CREAT, 0666);
        if (file < 0) fail(path, "it cannot be opened");
        for (long i = 0; i < side; i++)
            for (long j = 0; j < columns;) {
                long at = whole(j, block, size, rank), bytes = sizeof(double) * (columns - j < block ? columns - j : block);
                if (pwrite(file, mine + i * columns + j, bytes, sizeof(double) * (i * side + at)) != bytes)
                    fail(path, "it cannot be written");
                j += block;
            }
        close(file);
        MPI_Barrier(MPI_COMM_WORLD);
        double took = MPI_Wtime() - begin;
        cpu = cpu_s() - cpu;
        if (run > 0) tell("write ", took, cpu);
    }
    double *row = memory(sizeof(double) * side);
    int file = open(path, O_RDONLY);
    for (long i = rank; i < side; i += size) {
        if (pread(file, row, sizeof(double) * side, sizeof(double) * i * side) != (long)sizeof(double) * side)
            fail(path, "it is cut short");
        for (long j = 0; j < side; j++)
            if (row[j] != i * (double)side + j) fail(path, "an element is out of its place");
    }
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0) unlink(path);
    MPI_Finalize();
    return 0;
}
