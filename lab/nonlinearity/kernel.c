/* Linear spline with evenly spaced knots: constant outside [low, high], right-hand slope on a knot, NaN stays NaN.
   One pass over memory each way; the backward pass recomputes the interval instead of reading it back.

   Layout: x, y, g are (runs, count), contiguous; knots are (runs, n), or (n) shared by all runs. Work is cut into
   items, numbered over runs and the slices of a run; a call does the items first … end - 1, so that several threads
   can share them. Slices depend on the size alone: results are the same, bit for bit, for any number of threads.
   Functions return 0, or 1 where memory ran out. */
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define BLOCK 256 /* inputs that are in the buffers at once */
#define LANES 4

typedef double sum2 __attribute__((vector_size(16)));

#define NAME(f) spline_##f##_float32
#define ELEMENT float
#define REAL float
#define READ(e) (e)
#define WRITE(r) (r)
#include "kernel.h"

#define NAME(f) spline_##f##_float64
#define ELEMENT double
#define REAL double
#define READ(e) (e)
#define WRITE(r) (r)
#include "kernel.h"

static inline float from_bfloat16(uint16_t half) {
    uint32_t bits = (uint32_t)half << 16;
    float real;
    memcpy(&real, &bits, sizeof real);
    return real;
}

static inline uint16_t to_bfloat16(float real) { /* round to nearest, ties to even, as torch does */
    uint32_t bits;
    memcpy(&bits, &real, sizeof bits);
    uint32_t rounded = (bits + 0x7fff + ((bits >> 16) & 1)) >> 16;
    return (uint16_t)(real == real ? rounded : 0x7fc0);
}

#define NAME(f) spline_##f##_bfloat16
#define ELEMENT uint16_t
#define REAL float
#define READ(e) from_bfloat16(e)
#define WRITE(r) to_bfloat16(r)
#include "kernel.h"

static inline float from_float16(uint16_t half) {
    uint32_t sign = (uint32_t)(half & 0x8000) << 16, bits = (uint32_t)(half & 0x7fff) << 13;
    uint32_t special = bits | 0x7f800000; /* infinity and NaN */
    float real;
    memcpy(&real, &bits, sizeof real);
    real *= 0x1p112f; /* the exponents' biases are 15 and 127; exact for denormal numbers too */
    uint32_t scaled;
    memcpy(&scaled, &real, sizeof scaled);
    scaled = (bits >= 0x0f800000 ? special : scaled) | sign;
    memcpy(&real, &scaled, sizeof real);
    return real;
}

static inline uint16_t to_float16(float real) { /* round to nearest, ties to even, as torch does */
    uint32_t bits, tiny;
    memcpy(&bits, &real, sizeof bits);
    uint32_t sign = bits & 0x80000000;
    bits ^= sign;
    memcpy(&real, &bits, sizeof real);
    real += 0.5f; /* a denormal half is a whole number of 2^-24, which is what a float near 0.5 ends with */
    memcpy(&tiny, &real, sizeof tiny);
    uint32_t usual = (bits - 0x38000000 + 0xfff + ((bits >> 13) & 1)) >> 13;
    uint32_t half = bits < 0x38800000 ? tiny - 0x3f000000 : usual;
    half = bits >= 0x47800000 ? 0x7c00 : half;
    half = bits > 0x7f800000 ? 0x7e00 : half;
    return (uint16_t)(half | sign >> 16);
}

#define NAME(f) spline_##f##_float16
#define ELEMENT uint16_t
#define REAL float
#define READ(e) from_float16(e)
#define WRITE(r) to_float16(r)
#include "kernel.h"

/* Sums the slices of each run, in their order: partial (runs, slices, n) to total (runs, n). */
void spline_collect(const double *partial, double *total, int64_t runs, int64_t slices, int n) {
    for (int64_t run = 0; run < runs; run++)
        for (int k = 0; k < n; k++) {
            double sum = 0;
            for (int64_t s = 0; s < slices; s++) sum += partial[(run * slices + s) * n + k];
            total[run * n + k] = sum;
        }
}
