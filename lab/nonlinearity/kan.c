/* KAN layers: y[row, out] = Σ_in Σ_k B_k(x[row, in]) table[in, k, out] with B-splines on even knots, of which order + 1
   are not zero at a number: where it lies is one division, and what it adds to a row is order + 1 scaled rows of the
   table. One pass each way; the backward pass computes the bases again. Work is cut into items of fixed size, so that
   results are the same, bit for bit, for any number of threads. */
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define ROWS 64   /* at once: their outputs stay in the first-level cache */
#define INPUTS 8  /* of an item of the backward pass */
#define VECTORS 4 /* of outputs at once */
#define MOST 6    /* bases at a number: order 5 */
#define INLINE static inline __attribute__((always_inline))
#define BY_ORDER(call)        \
    switch (order) {          \
        case 0: call(0); break; \
        case 1: call(1); break; \
        case 2: call(2); break; \
        case 3: call(3); break; \
        case 4: call(4); break; \
        default: call(5);     \
    }

#define NAME(f) kan_##f##_float32
#define REAL float
#include "kan.h"

#define NAME(f) kan_##f##_float64
#define REAL double
#include "kan.h"
