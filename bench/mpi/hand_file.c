/* A matrix of doubles, two-dimensional block-cyclic over a square of ranks, written to one file column by column, by
 * hand, as a careful programmer would for this one case: each rank writes a panel of columns, a contiguous range of the
 * file, a piece of some MB at a time. For each piece MPI_Alltoallv brings what the ranks hold of it, straight out of
 * their arrays, where its columns lie side by side; runs of a block are copied to where they belong, and the piece is
 * written while it is still in the cache. The layout is worked out once.
 *
 * mpiexec -n 4 hand_file SIDE BLOCK RUNS PATH over|new|cut PIECE [write|map]: prints, run by run, "write SECONDS CPU",
 * from opening the file to having closed it: seconds of the slowest rank, CPU seconds of all. With "over" a file is
 * written over that is there already, with "new" each time a new one, with "cut" one that is cut to nothing first.
 * PIECE is columns of the panel, 0 all. "map" copies runs to the file mapped into memory instead of writing pieces. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "matrix.h"

typedef struct {
    long side, block, width; /* width: columns of a panel */
    int rank, size, across, row, column;
} Place;

/* What a rank sends and gets for columns `from` to `to` of every panel. */
typedef struct {
    int *sends, *send_at, *gets, *get_at;
    long from, to;
} Piece;

static long min(long a, long b) { return a < b ? a : b; }

static Piece piece(const Place *at, long from, long to) {
    int size = at->size, *room = memory(4 * size * sizeof(int));
    Piece made = {room, room + size, room + 2 * size, room + 3 * size, from, to};
    long rows = held(at->side, at->block, at->across, at->row);
    for (int other = 0; other < size; other++) {
        long start = min(at->side, other * at->width);
        long first = min(at->side, start + from), last = min(min(at->side, start + at->width), start + to);
        long before = held(first, at->block, at->across, at->column);
        made.sends[other] = (held(last, at->block, at->across, at->column) - before) * rows;
        made.send_at[other] = before * rows;
        start = min(at->side, at->rank * at->width);
        first = min(at->side, start + from), last = min(min(at->side, start + at->width), start + to);
        int other_row = other / at->across, other_column = other % at->across;
        long wide = held(last, at->block, at->across, other_column) - held(first, at->block, at->across, other_column);
        made.gets[other] = wide * held(at->side, at->block, at->across, other_row);
        made.get_at[other] = other ? made.get_at[other - 1] + made.gets[other - 1] : 0;
    }
    return made;
}

static void write_all(int file, const double *from, size_t bytes, off_t offset, const char *path) {
    for (const char *next = (const char *)from; bytes > 0;) {
        ssize_t done = pwrite(file, next, bytes, offset);
        if (done <= 0) fail(path, "cannot be written");
        next += done, offset += done, bytes -= done;
    }
}

int main(int count, char **words) {
    MPI_Init(&count, &words);
    Place at;
    MPI_Comm_rank(MPI_COMM_WORLD, &at.rank);
    MPI_Comm_size(MPI_COMM_WORLD, &at.size);
    if (count < 7) fail("arguments", "SIDE BLOCK RUNS PATH over|new|cut PIECE [write|map]");
    at.side = number(words[1]), at.block = number(words[2]);
    long runs = number(words[3]), wide = number(words[6]);
    const char *path = words[4], *form = words[5];
    int maps = count > 7 && strcmp(words[7], "map") == 0;
    at.across = side_of(at.size), at.row = at.rank / at.across, at.column = at.rank % at.across;
    at.width = (at.side + at.size - 1) / at.size;
    if (wide == 0 || wide > at.width) wide = at.width;
    long rows = held(at.side, at.block, at.across, at.row), columns = held(at.side, at.block, at.across, at.column);
    long first = min(at.side, at.rank * at.width), last = min(at.side, first + at.width);
    double *mine = memory(sizeof(double) * rows * columns);
    fill(mine, at.side, at.block, at.across, at.row, at.column);
    double *mail = memory(sizeof(double) * at.side * wide), *panel = memory(sizeof(double) * at.side * wide);
    const double **next = memory(sizeof(double *) * at.size), **from = memory(sizeof(double *) * at.across);
    long pieces = (at.width + wide - 1) / wide;
    Piece *plan = memory(sizeof(Piece) * pieces);
    for (long p = 0; p < pieces; p++) plan[p] = piece(&at, p * wide, min(at.width, (p + 1) * wide));
    size_t column_bytes = sizeof(double) * at.side, bytes = column_bytes * at.side;
    for (long run = 0; run <= runs; run++) {
        if (strcmp(form, "new") == 0 && at.rank == 0) remove(path);
        MPI_Barrier(MPI_COMM_WORLD);
        double begin = MPI_Wtime(), cpu = cpu_s();
        int is_cut = strcmp(form, "cut") == 0, file;
        if (is_cut && at.rank == 0 && truncate(path, 0) != 0 && run > 0) fail(path, "cannot be cut");
        if (is_cut) MPI_Barrier(MPI_COMM_WORLD);
        file = open(path, O_CREAT | O_RDWR, 0644);
        if (file < 0) fail(path, "cannot be opened");
        if (ftruncate(file, bytes) != 0) fail(path, "no room");
        double *mapped = NULL;
        size_t length = column_bytes * (last - first);
        off_t offset = column_bytes * first, page = offset % sysconf(_SC_PAGESIZE);
        if (maps && length > 0) {
            char *found = mmap(NULL, length + page, PROT_READ | PROT_WRITE, MAP_SHARED, file, offset - page);
            if (found == MAP_FAILED) fail(path, "cannot be mapped");
            mapped = (double *)(found + page);
        }
        for (long p = 0; p < pieces; p++) {
            const Piece *now = plan + p;
            MPI_Alltoallv(mine, now->sends, now->send_at, MPI_DOUBLE, mail, now->gets, now->get_at, MPI_DOUBLE,
                          MPI_COMM_WORLD);
            for (int other = 0; other < at.size; other++) next[other] = mail + now->get_at[other];
            long start = min(last, first + now->from), end = min(last, first + now->to);
            double *to = mapped ? mapped + (start - first) * at.side : panel;
            for (long j = start; j < end; j++) {
                int owner = j / at.block % at.across;
                for (int r = 0; r < at.across; r++) {
                    from[r] = next[r * at.across + owner];
                    next[r * at.across + owner] += held(at.side, at.block, at.across, r);
                }
                put_column(to + (j - start) * at.side, from, at.side, at.block, at.across);
            }
            if (!mapped) write_all(file, panel, column_bytes * (end - start), column_bytes * start, path);
        }
        if (mapped && munmap((char *)mapped - page, length + page) != 0) fail(path, "cannot be unmapped");
        if (close(file) != 0) fail(path, "cannot be closed");
        double took = MPI_Wtime() - begin;
        cpu = cpu_s() - cpu;
        if (run > 0) tell("write ", took, cpu);
    }
    double *again = memory(column_bytes * (last - first));
    int file = open(path, O_RDONLY);
    for (size_t got = 0; got < column_bytes * (last - first);) {
        ssize_t part = pread(file, (char *)again + got, column_bytes * (last - first) - got, column_bytes * first + got);
        if (part <= 0) fail(path, "it is cut short");
        got += part;
    }
    close(file);
    look(again, at.side, first, last);
    MPI_Finalize();
    return 0;
}
