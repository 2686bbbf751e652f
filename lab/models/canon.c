/* Canon layers: y_t = x_t + sum over j = 0 … 3 of w_j x_{t-j}, channel by channel, and their gradients, in one pass over
   memory each way. x, y and gradients are (runs, batch, tokens, width), weights (runs, 4, width), all contiguous.
   The file includes itself once a type. Functions return 0, or 1 where memory ran out. */
#ifndef REAL
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#define KERNEL 4

#define REAL float
#define NAME(f) canon_##f##_float32
#include "canon.c"
#undef REAL
#undef NAME

#define REAL double
#define NAME(f) canon_##f##_float64
#include "canon.c"

#else

int NAME(forward)(const REAL *x, const REAL *weight, REAL *y, int64_t runs, int64_t batch, int64_t tokens, int64_t width) {
    for (int64_t row = 0; row < runs * batch; row++) {
        const REAL *w = weight + row / batch * KERNEL * width;
        for (int64_t t = 0; t < tokens; t++) {
            const REAL *now = x + (row * tokens + t) * width;
            REAL *restrict out = y + (row * tokens + t) * width;
            if (t >= KERNEL - 1) {
                for (int64_t c = 0; c < width; c++)
                    out[c] = now[c] + now[c] * w[c] + now[c - width] * w[c + width] + now[c - 2 * width] * w[c + 2 * width] +
                             now[c - 3 * width] * w[c + 3 * width];
                continue;
            }
            for (int64_t c = 0; c < width; c++) out[c] = now[c] + now[c] * w[c];
            for (int64_t back = 1; back <= t; back++)
                for (int64_t c = 0; c < width; c++) out[c] += now[c - back * width] * w[c + back * width];
        }
    }
    return 0;
}

/* The weights' sums are over tokens in REAL, over sequences in double. */
int NAME(backward)(const REAL *x, const REAL *grad, const REAL *weight, REAL *of_x, REAL *of_weight, int64_t runs,
                   int64_t batch, int64_t tokens, int64_t width) {
    const int64_t size = KERNEL * width;
    double *total = malloc(sizeof(*total) * (size_t)size);
    REAL *sum = malloc(sizeof(*sum) * (size_t)size);
    if (!total || !sum) {
        free(total);
        free(sum);
        return 1;
    }
    for (int64_t run = 0; run < runs; run++) {
        const REAL *w = weight + run * size;
        memset(total, 0, sizeof(*total) * (size_t)size);
        for (int64_t row = run * batch; row < (run + 1) * batch; row++) {
            memset(sum, 0, sizeof(*sum) * (size_t)size);
            for (int64_t t = 0; t < tokens; t++) {
                const REAL *now = x + (row * tokens + t) * width, *g = grad + (row * tokens + t) * width;
                REAL *restrict out = of_x + (row * tokens + t) * width;
                if (t + KERNEL <= tokens)
                    for (int64_t c = 0; c < width; c++)
                        out[c] = g[c] + g[c] * w[c] + g[c + width] * w[c + width] + g[c + 2 * width] * w[c + 2 * width] +
                                 g[c + 3 * width] * w[c + 3 * width];
                else {
                    for (int64_t c = 0; c < width; c++) out[c] = g[c] + g[c] * w[c];
                    for (int64_t later = 1; later < tokens - t; later++)
                        for (int64_t c = 0; c < width; c++) out[c] += g[c + later * width] * w[c + later * width];
                }
                for (int64_t back = 0; back < KERNEL && back <= t; back++) {
                    REAL *restrict s = sum + back * width;
                    for (int64_t c = 0; c < width; c++) s[c] += g[c] * now[c - back * width];
                }
            }
            for (int64_t i = 0; i < size; i++) total[i] += sum[i];
        }
        for (int64_t i = 0; i < size; i++) of_weight[run * size + i] = (REAL)total[i];
    }
    free(total);
    free(sum);
    return 0;
}
#endif
