/* A matrix of doubles, two-dimensional block-cyclic over a square of ranks, written to one file column by column and
 * read again with MPI's own collectives, as the standard means it: the file is seen through a type of
 * MPI_Type_create_darray, and all ranks write or read all they hold in one call.
 *
 * mpiexec -n 4 romio SIDE BLOCK RUNS PATH over|new [HINT=VALUE ...]: prints, run by run, lines
 * "write SECONDS CPU" and "read SECONDS CPU", from opening the file to having closed it, and "write_call" and "read_call",
 * the same of the one call: seconds of the slowest rank, CPU seconds of all. With "over" a file is written over that is
 * there already, with "new" each time a new one. */
#include "matrix.h"

/* Opens, sees the file through `view`, moves `count` elements, closes; tells what it took. */
static void move(int writes, const char *path, MPI_Info hints, MPI_Datatype view, double *mine, int count, int told) {
    MPI_File file;
    int mode = writes ? MPI_MODE_CREATE | MPI_MODE_WRONLY : MPI_MODE_RDONLY;
    MPI_Status status;
    MPI_Barrier(MPI_COMM_WORLD);
    double begin = MPI_Wtime(), cpu = cpu_s();
    must(MPI_File_open(MPI_COMM_WORLD, path, mode, hints, &file), path);
    must(MPI_File_set_view(file, 0, MPI_DOUBLE, view, "native", hints), "MPI_File_set_view");
    double call = MPI_Wtime(), call_cpu = cpu_s();
    if (writes)
        must(MPI_File_write_all(file, mine, count, MPI_DOUBLE, &status), "MPI_File_write_all");
    else
        must(MPI_File_read_all(file, mine, count, MPI_DOUBLE, &status), "MPI_File_read_all");
    call = MPI_Wtime() - call, call_cpu = cpu_s() - call_cpu;
    must(MPI_File_close(&file), "MPI_File_close");
    double took = MPI_Wtime() - begin;
    cpu = cpu_s() - cpu;
    int moved;
    MPI_Get_count(&status, MPI_DOUBLE, &moved);
    if (moved != count) fail(path, writes ? "not all was written" : "not all was read");
    if (!told) return;
    tell(writes ? "write " : "read ", took, cpu);
    tell(writes ? "write_call " : "read_call ", call, call_cpu);
}

int main(int count, char **words) {
    MPI_Init(&count, &words);
    int rank, size;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (count < 6) fail("arguments", "SIDE BLOCK RUNS PATH over|new [HINT=VALUE ...]");
    long side = number(words[1]), block = number(words[2]), runs = number(words[3]);
    const char *path = words[4];
    int across = side_of(size), row = rank / across, column = rank % across, is_new = strcmp(words[5], "new") == 0;
    MPI_Info hints;
    MPI_Info_create(&hints);
    for (int at = 6; at < count; at++) {
        char *value = strchr(words[at], '=');
        if (value == NULL) fail(words[at], "a hint is NAME=VALUE");
        *value++ = '\0';
        MPI_Info_set(hints, words[at], value);
    }
    long rows = held(side, block, across, row), columns = held(side, block, across, column), all = rows * columns;
    double *mine = memory(sizeof(double) * all), *again = memory(sizeof(double) * all);
    fill(mine, side, block, across, row, column);
    int sizes[2] = {side, side}, over[2] = {across, across}, blocks[2] = {block, block};
    int cyclic[2] = {MPI_DISTRIBUTE_CYCLIC, MPI_DISTRIBUTE_CYCLIC};
    MPI_Datatype view;
    MPI_Type_create_darray(size, rank, 2, sizes, cyclic, blocks, over, MPI_ORDER_FORTRAN, MPI_DOUBLE, &view);
    MPI_Type_commit(&view);
    for (long run = 0; run <= runs; run++) {
        if (is_new && rank == 0) remove(path);
        move(1, path, hints, view, mine, all, run > 0);
        memset(again, 0, sizeof(double) * all);
        move(0, path, hints, view, again, all, run > 0);
    }
    if (memcmp(mine, again, sizeof(double) * all) != 0) fail(path, "what is read is not what was written");
    /* The file is the matrix, column by column, whoever reads it. */
    long first = rank * side / size, last = (rank + 1) * side / size;
    double *panel = memory(sizeof(double) * side * (last - first));
    FILE *plain = fopen(path, "rb");
    if (plain == NULL || fseek(plain, sizeof(double) * side * first, SEEK_SET) != 0) fail(path, "cannot be opened");
    if (fread(panel, sizeof(double) * side, last - first, plain) != (size_t)(last - first)) fail(path, "it is cut short");
    fclose(plain);
    look(panel, side, first, last);
    MPI_Type_free(&view);
    MPI_Info_free(&hints);
    MPI_Finalize();
    return 0;
}
