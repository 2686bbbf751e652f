/* The layer for one type; kan.c includes this with NAME(f) and REAL.
   x, gx: (rows, inputs); y, g: (rows, outputs); weights: (outputs, inputs, grid + order), all contiguous.
   Tables: (inputs, cells + order, width), the weights with `order` rows of zeros before and after, since the knots have
   grid + 2 order intervals, the cells, and bases beyond the first and the last weight are missing there; width: outputs
   rounded up to whole vectors. */
#define LANES ((int)(64 / sizeof(REAL)))
#define CHUNK (VECTORS * LANES)
typedef REAL NAME(vector) __attribute__((vector_size(64), aligned(sizeof(REAL)), may_alias));

typedef REAL NAME(half) __attribute__((vector_size(32)));
typedef REAL NAME(quarter) __attribute__((vector_size(16)));

INLINE REAL NAME(sum)(const NAME(vector) *v) {
    NAME(half) h[2];
    NAME(quarter) q[2];
    REAL sum = 0;
    memcpy(h, v, sizeof h);
    h[0] += h[1];
    memcpy(q, h, sizeof q);
    q[0] += q[1];
    for (int lane = 0; lane < LANES / 4; lane++) sum += q[0][lane];
    return sum;
}

/* Weights to a table, or back: then of the gradients. */
void NAME(pack)(REAL *weights, REAL *table, int64_t inputs, int64_t outputs, int64_t width, int grid, int order,
                int back) {
    const int count = grid + order, depth = grid + 3 * order;
    if (!back) memset(table, 0, sizeof(REAL) * (size_t)(inputs * depth * width));
    for (int64_t o = 0; o < outputs; o++)
        for (int64_t i = 0; i < inputs; i++)
            for (int k = 0; k < count; k++) {
                REAL *w = weights + (o * inputs + i) * count + k, *t = table + (i * depth + order + k) * width + o;
                if (back) *w = *t;
                else *t = *w;
            }
}

/* Cells of one input in `size` rows, the bases there, and if `of_x` their slopes. Beyond the knots all are 0; at NaN
   they are NaN, in cell 0. Cells are closed on the left, by comparison with the knots themselves. */
static void NAME(bases)(const REAL *x, int64_t stride, int size, const REAL *knots, int cells, int order, int of_x,
                        int32_t *cell, REAL (*w)[ROWS], REAL (*s)[ROWS]) {
    const REAL low = knots[0], high = knots[cells], inverse = (REAL)cells / (high - low);
    REAL in[ROWS], t[ROWS], carry[ROWS];
    for (int r = 0; r < size; r++) in[r] = x[r * stride];
    for (int r = 0; r < size; r++) {
        REAL p = (in[r] - low) * inverse;
        p = p > 0 ? p : 0; /* NaN, too */
        p = p < (REAL)cells ? p : (REAL)cells;
        cell[r] = p < (REAL)cells ? (int32_t)p : cells - 1;
        t[r] = in[r] < low || in[r] >= high ? 0 : (in[r] == in[r] ? p : in[r]) - (REAL)cell[r];
        w[0][r] = (in[r] < low || in[r] >= high ? 0 : 1) + (t[r] - t[r]); /* 0 or 1, or NaN */
    }
    for (int r = 0; order < 2 && r < size; r++) { /* where a rounded knot would be a step, or another slope */
        const int c = cell[r], by = (c < cells - 1 && in[r] >= knots[c + 1]) - (c > 0 && in[r] < knots[c]);
        cell[r] += by;
        t[r] -= (REAL)by;
    }
    for (int d = 1; d <= order; d++) {
        if (d == order && of_x)
            for (int k = 0; k <= order; k++)
                for (int r = 0; r < size; r++)
                    s[k][r] = ((k ? w[k - 1][r] : 0) - (k < order ? w[k][r] : 0)) * inverse;
        const REAL share = (REAL)1 / d;
        memset(carry, 0, sizeof carry);
        for (int k = 0; k < d; k++)
            for (int r = 0; r < size; r++) {
                const REAL part = w[k][r] * share;
                w[k][r] = carry[r] + ((REAL)(k + 1) - t[r]) * part;
                carry[r] = (t[r] + (REAL)(d - 1 - k)) * part;
            }
        memcpy(w[d], carry, sizeof carry);
    }
}

INLINE void NAME(forward_of)(const REAL *x, const REAL *table, const REAL *knots, REAL *y, int64_t rows, int64_t inputs,
                             int64_t outputs, int64_t width, int grid, const int order, int64_t first, int64_t end) {
    const int cells = grid + 2 * order, depth = cells + order;
    const int64_t chunks = (width + CHUNK - 1) / CHUNK;
    REAL w[MOST][ROWS];
    NAME(vector) sums[ROWS][VECTORS];
    int32_t cell[ROWS];
    for (int64_t item = first; item < end; item++) {
        const int64_t row = item / chunks * ROWS, out = item % chunks * CHUNK;
        const int size = rows - row < ROWS ? (int)(rows - row) : ROWS;
        const int vectors = width - out < CHUNK ? (int)((width - out) / LANES) : VECTORS;
        const int64_t left = outputs - out < CHUNK ? outputs - out : CHUNK;
        memset(sums, 0, sizeof sums);
        for (int64_t i = 0; i < inputs; i++) {
            NAME(bases)(x + row * inputs + i, inputs, size, knots, cells, order, 0, cell, w, NULL);
            for (int r = 0; r < size; r++) {
                const REAL *at = table + (i * depth + cell[r]) * width + out;
                for (int v = 0; v < vectors; v++) {
                    NAME(vector) sum = sums[r][v];
                    for (int k = 0; k <= order; k++) sum += w[k][r] * *(const NAME(vector) *)(at + k * width + v * LANES);
                    sums[r][v] = sum;
                }
            }
        }
        for (int r = 0; r < size; r++) memcpy(y + (row + r) * outputs + out, sums[r], sizeof(REAL) * (size_t)left);
    }
}

/* gx: of the inputs, or NULL. gt: of the table, or NULL; sums over ROWS rows are added up. Returns 1 without memory. */
INLINE int NAME(backward_of)(const REAL *x, const REAL *g, const REAL *table, const REAL *knots, REAL *gx, REAL *gt,
                             int64_t rows, int64_t inputs, int64_t outputs, int64_t width, int grid, const int order,
                             int64_t first, int64_t end) {
    const int cells = grid + 2 * order, depth = cells + order;
    REAL w[MOST][ROWS], s[MOST][ROWS], slope[INPUTS][ROWS];
    int32_t cell[ROWS];
    NAME(vector) given[ROWS][VECTORS];
    NAME(vector) *part = malloc(sizeof(*part) * VECTORS * (size_t)depth);
    if (!part) return 1;
    for (int64_t item = first; item < end; item++) {
        const int64_t input = item * INPUTS, stop = input + INPUTS < inputs ? input + INPUTS : inputs;
        if (gt) memset(gt + input * depth * width, 0, sizeof(REAL) * (size_t)((stop - input) * depth * width));
        for (int64_t row = 0; row < rows; row += ROWS) {
            const int size = rows - row < ROWS ? (int)(rows - row) : ROWS;
            memset(slope, 0, sizeof slope);
            for (int64_t out = 0; out < width; out += CHUNK) {
                const int vectors = width - out < CHUNK ? (int)((width - out) / LANES) : VECTORS;
                const int64_t left = outputs - out < CHUNK ? outputs - out : CHUNK;
                if (left < CHUNK) memset(given, 0, sizeof given);
                for (int r = 0; r < size; r++)
                    memcpy(given[r], g + (row + r) * outputs + out, sizeof(REAL) * (size_t)left);
                for (int64_t i = input; i < stop; i++) {
                    NAME(bases)(x + row * inputs + i, inputs, size, knots, cells, order, gx != NULL, cell, w, s);
                    if (gx && order)
                        for (int r = 0; r < size; r++) {
                            const REAL *at = table + (i * depth + cell[r]) * width + out;
                            NAME(vector) dot = {0};
                            for (int v = 0; v < vectors; v++) {
                                NAME(vector) sum = {0};
                                for (int k = 0; k <= order; k++)
                                    sum += s[k][r] * *(const NAME(vector) *)(at + k * width + v * LANES);
                                dot += sum * given[r][v];
                            }
                            slope[i - input][r] += NAME(sum)(&dot);
                        }
                    if (!gt) continue;
                    memset(part, 0, sizeof(*part) * VECTORS * (size_t)depth);
                    for (int r = 0; r < size; r++)
                        for (int v = 0; v < vectors; v++)
                            for (int k = 0; k <= order; k++)
                                part[(cell[r] + k) * VECTORS + v] += w[k][r] * given[r][v];
                    for (int k = 0; k < depth; k++)
                        for (int v = 0; v < vectors; v++)
                            *(NAME(vector) *)(gt + (i * depth + k) * width + out + v * LANES) += part[k * VECTORS + v];
                }
            }
            if (gx)
                for (int r = 0; r < size; r++)
                    for (int64_t i = input; i < stop; i++) gx[(row + r) * inputs + i] = slope[i - input][r];
        }
    }
    free(part);
    return 0;
}

int NAME(forward)(const REAL *x, const REAL *table, const REAL *knots, REAL *y, int64_t rows, int64_t inputs,
                  int64_t outputs, int64_t width, int grid, int order, int64_t first, int64_t end) {
#define CALL(o) NAME(forward_of)(x, table, knots, y, rows, inputs, outputs, width, grid, o, first, end)
    BY_ORDER(CALL)
#undef CALL
    return 0;
}

int NAME(backward)(const REAL *x, const REAL *g, const REAL *table, const REAL *knots, REAL *gx, REAL *gt, int64_t rows,
                   int64_t inputs, int64_t outputs, int64_t width, int grid, int order, int64_t first, int64_t end) {
#define CALL(o) return NAME(backward_of)(x, g, table, knots, gx, gt, rows, inputs, outputs, width, grid, o, first, end)
    BY_ORDER(CALL)
#undef CALL
}
#undef NAME
#undef REAL
#undef LANES
#undef CHUNK
