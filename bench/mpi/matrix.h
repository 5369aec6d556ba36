/* The matrix that all programs here move: doubles, two-dimensional block-cyclic over a square of ranks, numbered row by
 * row. An element says where it belongs: row + rows of the matrix * column. What a rank holds is column by column. */
#ifndef MATRIX_H
#define MATRIX_H

#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* Ends all ranks with a word. */
static inline void fail(const char *what, const char *why) {
    fprintf(stderr, "%s: %s\n", what, why);
    MPI_Abort(MPI_COMM_WORLD, 1);
    exit(1);
}

/* What MPI says to a call on files, which by itself does not end the program. */
static inline void must(int code, const char *what) {
    char text[MPI_MAX_ERROR_STRING];
    int length;
    if (code == MPI_SUCCESS) return;
    MPI_Error_string(code, text, &length);
    fail(what, text);
}

static inline void *memory(size_t bytes) {
    void *found = malloc(bytes ? bytes : 1);
    if (found == NULL) fail("malloc", "no memory left");
    memset(found, 0, bytes); /* pages are there before anything is timed */
    return found;
}

static inline double cpu_s(void) {
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return now.tv_sec + 1e-9 * now.tv_nsec;
}

/* Indices below `end` that coordinate `at` of `over` holds in blocks of `block`. */
static inline long held(long end, long block, int over, int at) {
    long turn = block * over, rest = end % turn - at * block;
    if (rest < 0) rest = 0;
    if (rest > block) rest = block;
    return end / turn * block + rest;
}

/* The index in the whole of a place in memory. */
static inline long whole(long place, long block, int over, int at) {
    return (place / block * over + at) * block + place % block;
}

/* The side of a square of so many ranks. */
static inline int side_of(int ranks) {
    int across = 1;
    while (across * across < ranks) across++;
    if (across * across != ranks) fail("ranks", "their number is a square");
    return across;
}

static inline long number(const char *word) {
    char *end;
    long value = strtol(word, &end, 10);
    if (end == word || *end != '\0' || value < 0) fail(word, "a whole number is wanted");
    return value;
}

/* What rank (row, column) of the square holds. */
static inline void fill(double *mine, long side, long block, int across, int row, int column) {
    long rows = held(side, block, across, row), columns = held(side, block, across, column);
    for (long j = 0; j < columns; j++)
        for (long i = 0; i < rows; i++)
            mine[j * rows + i] = whole(i, block, across, row) + (double)side * whole(j, block, across, column);
}

/* Puts one column together: runs of a block, alternately from the ranks that it comes from, each pointer of which moves
 * on. */
static inline void put_column(double *to, const double **from, long side, long block, int across) {
    long i = 0;
    if (block == 2) /* a length that the compiler knows */
        for (; i + 2 * across <= side;)
            for (int r = 0; r < across; r++, i += 2, from[r - 1] += 2) memcpy(to + i, from[r], 16);
    else if (block == 16)
        for (; i + 16 * across <= side;)
            for (int r = 0; r < across; r++, i += 16, from[r - 1] += 16) memcpy(to + i, from[r], 128);
    for (int r = 0; i < side; r = (r + 1) % across) {
        long run_len = side - i < block ? side - i : block;
        memcpy(to + i, from[r], sizeof(double) * run_len);
        from[r] += run_len;
        i += run_len;
    }
}

/* Whether columns from `first` to before `last` of the matrix are all in their place. */
static inline void look(const double *panel, long side, long first, long last) {
    for (long j = first; j < last; j++)
        for (long i = 0; i < side; i++)
            if (panel[(j - first) * side + i] != i + (double)side * j)
                fail("result", "an element is out of its place");
}

/* Prints, on rank 0, seconds of the slowest rank and CPU seconds of all. */
static inline void tell(const char *what, double took, double cpu) {
    double most, all;
    int rank;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Reduce(&took, &most, 1, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
    MPI_Reduce(&cpu, &all, 1, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
    if (rank == 0) printf("%s%.9f %.9f\n", what, most, all), fflush(stdout);
}

#endif
