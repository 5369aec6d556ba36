/* A matrix of doubles, two-dimensional block-cyclic over a square of ranks, made into panels of columns by ScaLAPACK's
 * pdgemr2d.
 *
 * mpiexec -n 4 gemr2d SIDE BLOCK RUNS: prints seconds of the slowest rank, and CPU seconds of all, run by run. */
#include "matrix.h"

void Cblacs_get(int, int, int *);
void Cblacs_gridinit(int *, char *, int, int);
void Cblacs_gridinfo(int, int *, int *, int *, int *);
int numroc_(int *, int *, int *, int *, int *);
void descinit_(int *, int *, int *, int *, int *, int *, int *, int *, int *, int *);
void pdgemr2d_(int *, int *, double *, int *, int *, int *, double *, int *, int *, int *, int *);

int main(int count, char **words) {
    MPI_Init(&count, &words);
    int rank, size, zero = 0, one = 1, info;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (count != 4) fail("arguments", "SIDE BLOCK RUNS");
    int across = side_of(size);
    int side = number(words[1]), block = number(words[2]), runs = number(words[3]);
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
    double *mine = memory(sizeof(double) * rows * (long)columns);
    double *panel = memory(sizeof(double) * side * (long)panel_columns);
    fill(mine, side, block, across, row, column);
    for (int run = 0; run <= runs; run++) {
        memset(panel, 0, sizeof(double) * side * (long)panel_columns); /* what was there is not taken for what this run brings */
        MPI_Barrier(MPI_COMM_WORLD);
        double begin = MPI_Wtime(), cpu = cpu_s();
        pdgemr2d_(&side, &side, mine, &one, &one, from, panel, &one, &one, to, &squares);
        double took = MPI_Wtime() - begin;
        cpu = cpu_s() - cpu;
        if (run > 0) tell("", took, cpu);
    }
    look(panel, side, (long)panel_column * width, (long)panel_column * width + panel_columns);
    MPI_Finalize();
    return 0;
}
