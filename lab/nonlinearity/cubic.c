/* Piecewise cubic functions on even knots of [-4, 4], straight beyond: values, gradients of inputs and of the pieces, one
   pass each way. x, y, g: (runs, count), contiguous; pieces: (runs, 18, 4), or (18, 4) shared by all runs: left of the
   knots, the 16 intervals, right of them; a + b t + c t² + d t³ at the fraction t, beyond at the distance in intervals.
   Items as in kernel.c. */
#include <stdint.h>
#include <string.h>

#define BLOCK 256
#define LOW -4
#define INVERSE 2 /* 1 / spacing */
#define INTERVALS 16
#define PIECES (INTERVALS + 2)
#define LANES 4

typedef double sum4 __attribute__((vector_size(32)));

#define NAME(f) cubic_##f##_float32
#define REAL float
#include "cubic.h"

#define NAME(f) cubic_##f##_float64
#define REAL double
#include "cubic.h"
