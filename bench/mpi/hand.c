/* A matrix of doubles, two-dimensional block-cyclic over a square of ranks, made into panels of columns by hand, as a
 * careful programmer would for this one case: the columns of a panel lie side by side in the column-major array of
 * each rank, so that nothing is packed; one MPI_Alltoallv; runs of a block copied to where they belong, alternately
 * from the ranks that a column comes from, so that the panel is written in order. The layout is worked out once.
 *
 * mpiexec -n 4 hand SIDE BLOCK RUNS: prints seconds of the slowest rank, and CPU seconds of all, run by run. */
#include "matrix.h"

int main(int count, char **words) {
    MPI_Init(&count, &words);
    int rank, size;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (count != 4) fail("arguments", "SIDE BLOCK RUNS");
    int across = side_of(size);
    long side = number(words[1]), block = number(words[2]);
    int runs = number(words[3]), row = rank / across, column = rank % across;
    long rows = held(side, block, across, row), columns = held(side, block, across, column);
    long width = (side + size - 1) / size, first = rank * width, last = first + width;
    if (last > side) last = side;
    double *mine = memory(sizeof(double) * rows * columns);
    double *panel = memory(sizeof(double) * side * (last - first));
    double *mail = memory(sizeof(double) * side * (last - first));
    int *sends = memory(4 * size * sizeof(int)), *send_at = sends + size;
    int *gets = sends + 2 * size, *get_at = sends + 3 * size;
    fill(mine, side, block, across, row, column);
    long *starts = memory(size * sizeof(long));
    for (int other = 0; other < size; other++) {
        long from = other * width, to = from + width;
        if (to > side) to = side;
        long before = held(from, block, across, column);
        sends[other] = (held(to, block, across, column) - before) * rows;
        send_at[other] = before * rows;
        int other_row = other / across, other_column = other % across;
        long wide = held(last, block, across, other_column) - held(first, block, across, other_column);
        gets[other] = wide * held(side, block, across, other_row);
        get_at[other] = other ? get_at[other - 1] + gets[other - 1] : 0;
    }
    for (int run = 0; run <= runs; run++) {
        memset(panel, 0, sizeof(double) * side * (last - first)); /* what was there is not taken for what this run brings */
        MPI_Barrier(MPI_COMM_WORLD);
        double begin = MPI_Wtime(), cpu = cpu_s();
        MPI_Alltoallv(mine, sends, send_at, MPI_DOUBLE, mail, gets, get_at, MPI_DOUBLE, MPI_COMM_WORLD);
        for (int other = 0; other < size; other++) starts[other] = get_at[other];
        for (long j = first; j < last; j++) {
            int owner = j / block % across;
            double *to = panel + (j - first) * side;
            const double *from[64];
            for (int r = 0; r < across; r++) {
                int other = r * across + owner;
                from[r] = mail + starts[other];
                starts[other] += held(side, block, across, r);
            }
            put_column(to, from, side, block, across);
        }
        double took = MPI_Wtime() - begin;
        cpu = cpu_s() - cpu;
        if (run > 0) tell("", took, cpu);
    }
    look(panel, side, first, last);
    MPI_Finalize();
    return 0;
}
