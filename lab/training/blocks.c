/* All blocks of transformers side by side, forward in one call and backward in another: norms, residuals, attention to
   few tokens, hidden layers; and the loss. A chunk of sequences is done with all blocks before the next one begins, so
   that what it needs stays in the cache. Runs do not know of each other: a run's bits are the same in any fleet, and for
   any number of threads. Products and functions of one number are those of perceptrons. */
#include "perceptron.c"

enum { SOFTMAX, NONE, RMS_HEAD, KERNEL }; /* in the order of lab/training/blocks.py */

typedef struct {
    const void *weight, *bias; /* (runs, inputs, outputs), (runs, outputs); weight NULL: there is no such layer */
    void *of_weight, *of_bias;
    int64_t inputs, outputs, down; /* down: from a row of the weight to the next one; biases begin as far apart */
} layer;

/* x + attention(x), then x + mlp(x), each with a norm before it (`first`, `middle`) or after it (`middle`, `last`). */
typedef struct {
    layer maps[3], out, up, lower, first, middle, last, canon[4]; /* maps: to queries, keys, values */
    double epsilon; /* of norms */
    function phi;   /* of the hidden layer */
    int64_t heads, width, queries, keys, weighting, pair; /* width: of a head; pair: values pass through a network */
    int64_t buckets, own;                                 /* of biases of scores; own: each run has its own */
    double scale, least;                                  /* of scores; what their sums or squares have at least */
    function value, kernel; /* of values; of queries and keys, under a kernel */
    const int64_t *rows;    /* (queries,) tokens that are wanted, NULL: all */
    const int64_t *visible;    /* (queries,), how many of the keys */
    const int64_t *bucket;  /* (queries, keys) */
    const void *relative;   /* (runs or 1, heads, buckets): what scores are increased by; kernels multiplied by; or NULL */
    void *of_relative;
    const void *keep;       /* that multiplies scores in the end, (queries, keys), `keep_stride` from run to run; or NULL */
    int64_t keep_stride;
} block;

typedef struct {
    int64_t batch, blocks, classes; /* classes: that tokens are predicted of, 0 where the losses are another's */
    const block *block;
} stack;

/* Before the first block, and behind the last one: tokens and their places in, mean cross-entropy of some out. */
typedef struct {
    layer table, places, head; /* weight NULL: no places; the table is the last map, too */
    const int64_t *tokens, *positions, *targets; /* (runs, batch, tokens), (runs, batch, count) twice */
    const void *weights;                         /* (runs, batch, count) */
    void *losses;                                /* (runs,) */
    int64_t count;
} ends;

#define NAME(f) blocks_##f##_float32
#define THEIR(f) perceptron_##f##_float32
#define REAL float
#define ROOT sqrtf
#include "blocks.h"

#define NAME(f) blocks_##f##_float64
#define THEIR(f) perceptron_##f##_float64
#define REAL double
#define ROOT sqrt
#include "blocks.h"
