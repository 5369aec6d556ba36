/* A matrix of doubles, two-dimensional block-cyclic over a square of ranks, made into panels of columns by ScaLAPACK's
 * pdgemr2d.
 *
 * mpiexec -n 4 gemr2d SIDE BLOCK RUNS: prints seconds of the slowest rank, and CPU seconds of all, run by run. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

void Cblacs_get(int, int, int *);
void Cblacs_gridinit(int *, char *, int, int);
void Cblacs_gridinfo(int, int *, int *, int *, int *);
int numroc_(int *, int *, int *, int *, int *);
void descinit_(int *, int *, int *, int *, int *, int *, int *, int *, int *, int *);
void pdgemr2d_(int *, int *, double *, int *, int *, int *, double *, int *, int *, int *, int *);

static double cpu_s(void) {
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return now.tv_sec + 1e-9 * now.tv_nsec;
}

/* The index in the whole of a place in memory. */
static long whole(long place, int block, int over, int at) {
    return (place / block * over + at) * block + place % block;
}

int main(int count, char **words) {
    MPI_Init(&count, &words);
    int rank, size, across = 1, zero = 0, one = 1, info;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    while (across * across < size) across++;
    int side = atoi(words[1]), block = atoi(words[2]), runs = atoi(words[3]);
    int width = (side + size - 1) / size;
    int squares, row_of_all, rows_of, columns_of, row, column, panel_row, panel_column;
    Cblacs_get(0, 0, &squares);
    Cblacs_gridinit(&squares, "R", across, across);
    Cblacs_get(0, 0, &row_of_all);
    Cblacs_gridinit(&row_of_all, "R", 1, size);
    Cblacs_gridinfo(squares, &rows_of, &columns_of, &row, &column);
    Cblacs_gridinfo(row_of_all, &rows_of, &columns_of, &panel_row, &panel_column);
    int rows = numroc_(&side, &block, &row, &zero, &across);
    int columns = numroc_(&side, &block, &column, &zero, &across);
    int panel_columns = numroc_(&side, &width, &panel_column, &zero, &size);
    int from[9], to[9], leading = rows > 1 ? rows : 1;
    descinit_(from, &side, &side, &block, &block, &zero, &zero, &squares, &leading, &info);
    descinit_(to, &side, &side, &side, &width, &zero, &zero, &row_of_all, &side, &info);
    double *mine = malloc(sizeof(double) * rows * (long)columns);
    double *panel = malloc(sizeof(double) * side * (long)panel_columns);
    for (long j = 0; j < columns; j++)
        for (long i = 0; i < rows; i++)
            mine[j * rows + i] =
                whole(i, block, across, row) + (double)side * whole(j, block, across, column);
    for (int run = 0; run <= runs; run++) {
        MPI_Barrier(MPI_COMM_WORLD);
        double begin = MPI_Wtime(), cpu = cpu_s();
        pdgemr2d_(&side, &side, mine, &one, &one, from, panel, &one, &one, to, &squares);
        double took = MPI_Wtime() - begin, most, all;
        cpu = cpu_s() - cpu;
        MPI_Reduce(&took, &most, 1, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
        MPI_Reduce(&cpu, &all, 1, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
        if (rank == 0 && run > 0) printf("%.9f %.9f\n", most, all), fflush(stdout);
    }
    for (long j = 0; j < panel_columns; j++)
        for (long i = 0; i < side; i++)
            if (panel[j * side + i] != i + (double)side * ((long)panel_column * width + j)) {
                fprintf(stderr, "an element is out of its place\n");
                MPI_Abort(MPI_COMM_WORLD, 1);
            }
    MPI_Finalize();
    return 0;
}
