/* A training step of perceptrons side by side, in one call: outputs, loss, gradients, and the optimizer's change. A run
   is done from its first layer to its last update before the next one begins, so that all that it needs stays in the
   cache; runs do not know of each other: a run's bits are the same in any fleet, and for any number of threads. */
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#if defined(__AVX512F__)
#define VECTOR 64 /* bytes */
#define ROWS 8    /* of a block of products, whose sums stay in registers: 2 · ROWS vectors */
#elif defined(__AVX2__)
#define VECTOR 32
#define ROWS 6
#else
#define VECTOR 16
#define ROWS 4
#endif
#define CHUNK 16384 /* numbers of a hidden layer that are computed at once */
#define LEAST 32    /* rows of a chunk */
#define IGNORED -100 /* the class of rows that count nowhere, as in torch; any other that is none makes the loss NaN */
#define FAR 16384   /* numbers of a matrix beyond which its rows lie too far apart for the cache */
#define FEW 8       /* inputs of which at most one in so many is not 0 are multiplied one by one: the same sums, sooner */
#ifdef __clang__
#define SHUFFLE(a, b, ...) __builtin_shufflevector(a, b, __VA_ARGS__)
#else
#define SHUFFLE(a, b, ...) __builtin_shuffle(a, b, (BITS __attribute__((vector_size(sizeof(a))))){__VA_ARGS__})
#endif

/* In the order of lab/training/perceptron.py. */
enum { SPLINE, IDENTITY, RELU, LEAKYRELU, RELU6, HARDTANH, TANH, SIGMOID, SILU, GELU, ELU, SELU, SOFTSIGN, RELU2, GAUSSIAN,
       SOFTPLUS, LOGSIGMOID, MISH, TANHSHRINK, HARDSWISH, HARDSIGMOID, LEAKYRELU2 };
enum { MSE_OF_VALUES, MSE_OF_CLASSES, CROSS_ENTROPY };
enum { SGD, RMSPROP, ADAM };

typedef struct {
    int64_t kind, knots, stride; /* stride: from the knots of a run to those of the next one */
    double low, inverse;         /* of a spline: its first knot, and knots a unit */
    const void *values;
} function;

typedef struct {
    int64_t layers, rows, loss, rule, residual; /* layers: linear maps */
    int64_t inputs_stride, targets_stride;      /* from one run's rows to the next one's */
    double one, two, epsilon;                   /* of the rule: its memory of gradients and of their squares */
    double count;                               /* of steps, this one included */
    const int64_t *widths;                      /* (layers + 1,) */
    const function *functions;                  /* (layers - 1,) */
    int64_t functions_stride, knots;            /* from one run's functions to the next one's; the most knots of any */
    const double *prefactors, *rates, *shrink;  /* (runs,); shrink: (runs, 2), of weights and of biases */
    const int8_t *alive;                        /* (runs,) */
    void *const *weights, *const *means, *const *squares; /* (2 · layers,): weight, bias, weight, bias, … */
    const void *inputs, *targets;
    void *losses; /* (runs,) */
} fleet;

#define NAME(f) perceptron_##f##_float32
#define REAL float
#define BITS uint32_t
#define MAGIC 0x1.8p23f /* so large that adding it rounds to a whole number */
#define MANTISSA 23
#define BIAS 127
#define LIMIT 87.0f /* exp of it is finite, and of its negative normal */
#define DEGREE 7
#define ROOT sqrtf
#include "perceptron.h"

#define NAME(f) perceptron_##f##_float64
#define REAL double
#define BITS uint64_t
#define MAGIC 0x1.8p52
#define MANTISSA 52
#define BIAS 1023
#define LIMIT 708.0
#define DEGREE 14
#define ROOT sqrt
#include "perceptron.h"
