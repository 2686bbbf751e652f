/* Rational functions of degrees 5 and 4: values, gradients of inputs and of the ten coefficients, one pass each way.
   x, y, g: (runs, count), contiguous; coefficients: (runs, 10), or (10) shared by all runs. Items as in kernel.c. */
#include <stdint.h>
#include <string.h>

#define BLOCK 256

#define NAME(f) rational_##f##_float32
#define REAL float
#include "rational.h"

#define NAME(f) rational_##f##_float64
#define REAL double
#include "rational.h"
