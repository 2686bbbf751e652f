/* The step for one type of numbers; perceptron.c includes this once a type. Matrices are row by row; rows of a batch are
   rows of matrices. Products are computed in blocks: ROWS rows × two vectors of columns, whose sums stay in registers. */

typedef REAL NAME(vector) __attribute__((vector_size(VECTOR)));
typedef struct {
    REAL *at;
    int64_t down, along; /* element (i, j) is at[i · down + j · along] */
} NAME(matrix);

#define LANES ((int64_t)(VECTOR / sizeof(REAL)))
#define PANEL (2 * LANES)

static inline NAME(vector) NAME(load)(const REAL *at) {
    NAME(vector) v;
    memcpy(&v, at, sizeof v);
    return v;
}

/* The transpose of rows × columns; those of `from` begin `down` apart, those of `to` `along`. In blocks of 4 × 4. */
static void NAME(transpose)(const REAL *restrict from, int64_t down, REAL *restrict to, int64_t along, int64_t rows,
                            int64_t columns) {
    typedef REAL four __attribute__((vector_size(4 * sizeof(REAL))));
    const int64_t m = rows / 4 * 4, n = columns / 4 * 4;
    for (int64_t i = 0; i < m; i += 4)
        for (int64_t j = 0; j < n; j += 4) {
            four a, b, c, d;
            memcpy(&a, from + i * down + j, sizeof a), memcpy(&b, from + (i + 1) * down + j, sizeof b);
            memcpy(&c, from + (i + 2) * down + j, sizeof c), memcpy(&d, from + (i + 3) * down + j, sizeof d);
            const four e = SHUFFLE(a, c, 0, 4, 1, 5), f = SHUFFLE(b, d, 0, 4, 1, 5);
            const four g = SHUFFLE(a, c, 2, 6, 3, 7), h = SHUFFLE(b, d, 2, 6, 3, 7);
            a = SHUFFLE(e, f, 0, 4, 1, 5), b = SHUFFLE(e, f, 2, 6, 3, 7);
            c = SHUFFLE(g, h, 0, 4, 1, 5), d = SHUFFLE(g, h, 2, 6, 3, 7);
            memcpy(to + j * along + i, &a, sizeof a), memcpy(to + (j + 1) * along + i, &b, sizeof b);
            memcpy(to + (j + 2) * along + i, &c, sizeof c), memcpy(to + (j + 3) * along + i, &d, sizeof d);
        }
    for (int64_t i = 0; i < rows; i++)
        for (int64_t j = i < m ? n : 0; j < columns; j++) to[j * along + i] = from[i * down + j];
}

/* Up to ROWS rows and PANEL columns of c = start + a b, where b is PANEL columns wide. */
static inline __attribute__((always_inline)) void NAME(block)(NAME(matrix) a, NAME(matrix) b, NAME(matrix) start,
                                                              NAME(matrix) c, int64_t depth, int64_t columns,
                                                              const int rows) {
    NAME(vector) sums[ROWS][2];
    const int whole = columns == PANEL && c.along == 1;
    REAL edge[2 * VECTOR / sizeof(REAL)];
    for (int i = 0; i < rows; i++) {
        const REAL *from = start.at + i * start.down;
        if (!whole || start.along != 1) {
            memset(edge, 0, sizeof edge);
            for (int64_t j = 0; j < columns; j++) edge[j] = from[j * start.along];
            from = edge;
        }
        sums[i][0] = NAME(load)(from);
        sums[i][1] = NAME(load)(from + LANES);
    }
#pragma GCC unroll 1 /* more of it at once would need more registers than AVX2 has */
    for (int64_t k = 0; k < depth; k++) {
        const NAME(vector) left = NAME(load)(b.at + k * b.down), right = NAME(load)(b.at + k * b.down + LANES);
        for (int i = 0; i < rows; i++) {
            const REAL factor = a.at[i * a.down + k * a.along];
            sums[i][0] += factor * left;
            sums[i][1] += factor * right;
        }
    }
    for (int i = 0; i < rows; i++) {
        REAL *to = c.at + i * c.down;
        if (whole) {
            memcpy(to, sums[i], sizeof sums[i]);
        } else {
            memcpy(edge, sums[i], sizeof edge);
            for (int64_t j = 0; j < columns; j++) to[j * c.along] = edge[j];
        }
    }
}

/* c = start + a b, for a (m, depth) and b (depth, n). panel: room for (depth, PANEL), or (depth of the transposed). */
static void NAME(product)(NAME(matrix) a, NAME(matrix) b, NAME(matrix) start, NAME(matrix) c, int64_t m, int64_t depth,
                          int64_t n, REAL *panel) {
    if (n < LANES / 2 && n < m) { /* few columns: its transpose has few rows, which cost less */
        NAME(matrix) *all[] = {&a, &b, &start, &c};
        for (int i = 0; i < 4; i++) *all[i] = (NAME(matrix)){all[i]->at, all[i]->along, all[i]->down};
        const NAME(matrix) first = a;
        const int64_t rows = m;
        a = b, b = first, m = n, n = rows;
    }
    for (int64_t j = 0; j < n; j += PANEL) {
        const int64_t columns = n - j < PANEL ? n - j : PANEL;
        NAME(matrix) part = {b.at + j * b.along, b.down, b.along};
        if (columns < PANEL || b.along != 1 || depth * b.down > FAR) { /* then its columns are brought together */
            if (columns < PANEL) memset(panel, 0, sizeof(REAL) * (size_t)(depth * PANEL));
            if (b.along == 1)
                for (int64_t k = 0; k < depth; k++)
                    memcpy(panel + k * PANEL, part.at + k * b.down, sizeof(REAL) * (size_t)columns);
            else
                NAME(transpose)(part.at, b.along, panel, PANEL, columns, depth);
            part = (NAME(matrix)){panel, PANEL, 1};
        }
        for (int64_t i = 0; i < m; i += ROWS) {
            const NAME(matrix) rows = {a.at + i * a.down, a.down, a.along};
            const NAME(matrix) from = {start.at + i * start.down + j * start.along, start.down, start.along};
            const NAME(matrix) to = {c.at + i * c.down + j * c.along, c.down, c.along};
#define CASE(count) \
    case count: NAME(block)(rows, part, from, to, depth, columns, count < ROWS ? count : ROWS); break;
            switch (m - i < ROWS ? m - i : ROWS) { CASE(1) CASE(2) CASE(3) CASE(4) CASE(5) CASE(6) CASE(7) CASE(8) }
#undef CASE
        }
    }
}

/* exp(x) - minus, where minus is 0 or 1; near 0 exp(x) - 1 has all its digits. NaN stays NaN. */
static inline REAL NAME(exponential)(REAL x, REAL minus) {
    static const double inverse[] = {1, 1, 1. / 2, 1. / 6, 1. / 24, 1. / 120, 1. / 720, 1. / 5040, 1. / 40320, 1. / 362880,
                                     1. / 3628800, 1. / 39916800, 1. / 479001600, 1. / 6227020800, 1. / 87178291200};
    x = x < -LIMIT ? -LIMIT : x;
    x = x > LIMIT ? LIMIT : x;
    const REAL shifted = x * (REAL)1.44269504088896340736 + MAGIC, whole = shifted - MAGIC;
    const REAL rest = (x - whole * (REAL)0.693145751953125) - whole * (REAL)1.42860682030941723212e-6;
    BITS bits;
    memcpy(&bits, &shifted, sizeof bits);
    bits = (bits + BIAS) << MANTISSA;
    REAL power, series = (REAL)inverse[DEGREE];
    memcpy(&power, &bits, sizeof power);
    for (int n = DEGREE - 1; n > 0; n--) series = series * rest + (REAL)inverse[n];
    return (power - minus) + power * (series * rest);
}

/* ln(1 + exp(x)), and its slope σ(x): with s = e / (2 + e), ln(1 + e) = 2 (s + s³ / 3 + s⁵ / 5 + …). */
static inline REAL NAME(softplus)(REAL x, REAL *slope) {
    const REAL e = NAME(exponential)(x < 0 ? x : -x, 0), s = e / (2 + e), square = s * s;
    REAL series = 1 / (REAL)(2 * DEGREE + 1);
    for (int n = DEGREE - 1; n >= 0; n--) series = series * square + 1 / (REAL)(2 * n + 1);
    *slope = (x < 0 ? e : 1) / (1 + e);
    return (x < 0 ? 0 : x) + 2 * s * series;
}

/* Φ(-x) of the standard normal distribution for x ≥ 0, and its density: a fit for float, to 3e-8 of its size. */
static inline REAL NAME(tail)(REAL x, REAL *density) {
    static const double fit[] = {0.107722293,   0.107513813, 0.102025752,  0.0711810348, 0.109922446,
                                 -0.0723196963, 0.172559949, -0.127851809, 0.0292462316};
    const REAL bell = NAME(exponential)(x * x * (REAL)-0.5, 0), t = 1 / (1 + (REAL)0.27 * x);
    *density = bell * (REAL)0.39894228040143267794;
    if (sizeof(REAL) == 8) return (REAL)(0.5 * erfc((double)x * 0.70710678118654752440));
    REAL sum = (REAL)fit[8];
    for (int n = 7; n >= 0; n--) sum = sum * t + (REAL)fit[n];
    return bell * sum * t;
}

/* Of a layer's pre-activations z: y = φ(αz), and in place of z the slope α φ'(αz). Ends and slopes at kinks are torch's.
   table: for a spline, 2 · (knots + 1) numbers: for each interval, the ones beyond the ends included, value and rise. */
void NAME(activate)(const function *phi, REAL alpha, const REAL *table, REAL *restrict z, REAL *restrict y,
                    int64_t count) {
#define EACH(...)                            \
    for (int64_t i = 0; i < count; i++) {    \
        const REAL x = alpha * z[i];         \
        REAL value, slope;                   \
        __VA_ARGS__;                         \
        y[i] = value;                        \
        z[i] = alpha * slope;                \
    }                                        \
    return;
    switch (phi->kind) {
    case SPLINE: {
        const REAL low = (REAL)phi->low, inverse = (REAL)phi->inverse, last = (REAL)(phi->knots - 1);
        EACH(const REAL t = (x - low) * inverse; REAL inside = t < 0 ? 0 : t; inside = inside > last ? last : inside;
             const int32_t k = (int32_t)(inside > 0 ? inside : 0);
             const REAL *pair = table + 2 * (t < 0 ? 0 : k + 1);
             value = pair[0] + (inside - (REAL)k) * pair[1]; slope = inverse * pair[1])
    }
    case IDENTITY: EACH(value = x; slope = 1)
    case RELU: EACH(value = x < 0 ? 0 : x; slope = x > 0)
    case LEAKYRELU: EACH(slope = x > 0 ? 1 : (REAL)0.01; value = slope * x)
    case RELU6: EACH(value = x < 0 ? 0 : x; value = value > 6 ? 6 : value; slope = (x > 0) & (x < 6))
    case HARDTANH: EACH(value = x < -1 ? -1 : x; value = value > 1 ? 1 : value; slope = (x > -1) & (x < 1))
    case TANH:
        EACH(const REAL t = NAME(exponential)(x < 0 ? 2 * x : -2 * x, 1); value = t / (2 + t); value = x < 0 ? value : -value;
             slope = 1 - value * value)
    case SIGMOID:
        EACH(const REAL e = NAME(exponential)(x < 0 ? x : -x, 0); value = (x < 0 ? e : 1) / (1 + e);
             slope = value * (1 - value))
    case SILU:
        EACH(const REAL e = NAME(exponential)(x < 0 ? x : -x, 0), s = (x < 0 ? e : 1) / (1 + e); value = x * s;
             slope = s * (1 + x * (1 - s)))
    case GELU:
        EACH(REAL density; const REAL far = NAME(tail)(x < 0 ? -x : x, &density), below = x < 0 ? far : 1 - far;
             value = x * below; slope = below + x * density)
    case ELU: EACH(const REAL e = NAME(exponential)(x, 1); value = x > 0 ? x : e; slope = x > 0 ? 1 : e + 1)
    case SELU:
        EACH(const REAL scale = (REAL)1.0507009873554804934193349852946, a = (REAL)1.7580993408473768599402175208123;
             const REAL e = NAME(exponential)(x, 1); value = x > 0 ? scale * x : a * e; slope = x > 0 ? scale : a * (e + 1))
    case SOFTSIGN: EACH(const REAL size = 1 / (1 + (x < 0 ? -x : x)); value = x * size; slope = size * size)
    case RELU2: EACH(const REAL part = x < 0 ? 0 : x; value = part * part; slope = 2 * part)
    case GAUSSIAN: EACH(value = NAME(exponential)(-x * x, 0); slope = -2 * x * value)
    case SOFTPLUS: EACH(value = NAME(softplus)(x, &slope))
    case LOGSIGMOID: EACH(value = -NAME(softplus)(-x, &slope))
    case MISH: /* tanh(ln(1 + e)) = (e² + 2 e) / (e² + 2 e + 2) */
        EACH(const REAL e = NAME(exponential)(x > 20 ? 20 : x, 0), n = e * (e + 2), t = n / (n + 2); value = x * t;
             slope = t + x * (1 - t * t) * (e / (1 + e)))
    case TANHSHRINK:
        EACH(const REAL t = NAME(exponential)(x < 0 ? 2 * x : -2 * x, 1), y0 = t / (2 + t), tanh = x < 0 ? y0 : -y0;
             value = x - tanh; slope = tanh * tanh)
    case HARDSWISH:
        EACH(REAL part = x < -3 ? 0 : x + 3; part = part > 6 ? 6 : part; value = x * part / 6;
             slope = x >= 3 ? 1 : x > -3 ? (2 * x + 3) / 6 : 0)
    case HARDSIGMOID:
        EACH(REAL part = x < -3 ? 0 : x + 3; part = part > 6 ? 6 : part; value = part / 6;
             slope = ((x > -3) & (x < 3)) / (REAL)6)
    case LEAKYRELU2: EACH(const REAL side = x > 0 ? 1 : (REAL)0.5; value = side * x * side * x; slope = 2 * side * side * x)
    }
#undef EACH
}

static inline void NAME(add)(REAL *restrict sums, REAL factor, const REAL *restrict of, int64_t count) {
    for (int64_t i = 0; i < count; i++) sums[i] += factor * of[i];
}

/* A spline's `table` for a run. */
static void NAME(fill)(const function *phi, int64_t run, REAL *table) {
    const int64_t last = phi->knots - 1;
    const REAL *knots = (const REAL *)phi->values + run * phi->stride;
    for (int64_t k = -1; k <= last; k++) {
        table[2 * k + 2] = knots[k < 0 ? 0 : k];
        table[2 * k + 3] = k < 0 || k == last ? 0 : knots[k + 1] - knots[k];
    }
}

/* Where rows (rows, width) are not 0: columns, row by row, and where each row's end. Returns whether these are few, and
   the weights (width, to), which zeros are not multiplied with, finite. */
static int NAME(few)(const REAL *x, int64_t rows, int64_t width, const REAL *weights, int64_t to, int32_t *columns,
                     int64_t *ends) {
    int64_t count = 0;
    for (int64_t i = 0; i < rows; i++) {
        for (int64_t j = 0; j < width; j++) columns[count] = (int32_t)j, count += x[i * width + j] != 0;
        if (count * FEW > (i + 1) * width) return 0;
        ends[i] = count;
    }
    NAME(vector) none = {0};
    int64_t at = 0;
    for (; at + LANES <= width * to; at += LANES) none += NAME(load)(weights + at) * 0;
    REAL sum = 0;
    for (; at < width * to; at++) sum += weights[at] * 0;
    for (int64_t i = 0; i < LANES; i++) sum += none[i];
    return sum == 0;
}

/* Outputs (rows, width) become the gradient of the mean loss; adds the loss of these rows to `sum`. share: of a row in
   the mean. */
static void NAME(loss_backward)(int64_t kind, const void *targets, int64_t first, REAL *outputs, int64_t rows,
                                int64_t width, double share, double *sum) {
    for (int64_t i = 0; i < rows; i++, outputs += width) {
        const int64_t class = kind == MSE_OF_VALUES ? 0 : ((const int64_t *)targets)[first + i];
        if (class < 0 || class >= width) {
            if (class != IGNORED || kind != CROSS_ENTROPY) *sum = NAN;
            memset(outputs, 0, sizeof(REAL) * (size_t)width);
        } else if (kind == CROSS_ENTROPY) {
            REAL most = outputs[0], total = 0;
            for (int64_t j = 1; j < width; j++) most = outputs[j] > most ? outputs[j] : most;
            const REAL right = outputs[class] - most;
            for (int64_t j = 0; j < width; j++) outputs[j] = NAME(exponential)(outputs[j] - most, 0);
            for (int64_t j = 0; j < width; j++) total += outputs[j];
            *sum += share * (log((double)total) - (double)right);
            for (int64_t j = 0; j < width; j++) outputs[j] *= (REAL)share / total;
            outputs[class] -= (REAL)share;
        } else {
            const REAL one = kind == MSE_OF_VALUES ? ((const REAL *)targets)[first + i] : 1;
            outputs[class] -= one;
            for (int64_t j = 0; j < width; j++) *sum += share / (double)width * (double)outputs[j] * (double)outputs[j];
            for (int64_t j = 0; j < width; j++) outputs[j] *= (REAL)(2 * share / (double)width);
        }
    }
}

/* The optimizer's change of `count` weights, as in lab/training/optimizers.py. */
static void NAME(update)(const fleet *f, REAL rate, REAL shrink, REAL *restrict w, const REAL *restrict gradient,
                         REAL *restrict mean, REAL *restrict square, int64_t count) {
    const REAL two = (REAL)f->two, epsilon = (REAL)f->epsilon;
    const REAL new_one = (REAL)(1 - f->one), new_two = (REAL)(1 - f->two); /* 1 - 0.999f is not 0.001 */
    const REAL size = (REAL)(1 / sqrt(1 - pow(f->two, f->count))), step = rate / (REAL)(1 - pow(f->one, f->count));
    if (f->rule == SGD)
        for (int64_t i = 0; i < count; i++) w[i] -= rate * gradient[i];
    else if (f->rule == RMSPROP)
        for (int64_t i = 0; i < count; i++) {
            square[i] = two * square[i] + new_two * gradient[i] * gradient[i];
            w[i] -= rate * gradient[i] / (ROOT(square[i]) + epsilon);
        }
    else
        for (int64_t i = 0; i < count; i++) {
            mean[i] += new_one * (gradient[i] - mean[i]);
            square[i] = two * square[i] + new_two * gradient[i] * gradient[i];
            w[i] = shrink * w[i] - step * mean[i] / (ROOT(square[i]) * size + epsilon);
        }
}

static int64_t NAME(largest)(const fleet *f) {
    int64_t most = 1;
    for (int64_t l = 0; l <= f->layers; l++) most = f->widths[l] > most ? f->widths[l] : most;
    return most;
}

static int64_t NAME(chunk)(const fleet *f) {
    const int64_t rows = CHUNK / NAME(largest)(f), least = rows < LEAST ? LEAST : rows;
    return f->rows < least ? f->rows : least;
}

/* A vector's multiple, so that buffers begin where vectors do. */
static int64_t NAME(whole)(int64_t count) { return (count + LANES - 1) / LANES * LANES; }

/* How many numbers `step` needs besides the fleet's own. */
int64_t NAME(scratch)(const fleet *f) {
    const int64_t most = NAME(largest)(f), chunk = NAME(chunk)(f);
    int64_t depth = most > chunk ? most : chunk, total = NAME(whole)(depth * PANEL) + NAME(whole)(most);
    total += 2 * NAME(whole)(chunk * most) + NAME(whole)(2 * chunk) + NAME(whole)(f->widths[0] * (chunk / FEW + 2));
    for (int64_t l = 0; l < f->layers; l++) {
        total += 2 * NAME(whole)(f->widths[l] * f->widths[l + 1]) + NAME(whole)(f->widths[l + 1]);
        if (l < f->layers - 1)
            total += 2 * NAME(whole)(chunk * f->widths[l + 1]) + NAME(whole)(2 * (f->knots + 1));
    }
    return total;
}

/* A step of the runs first … end - 1. A run whose loss is not finite, or that is not alive, keeps its weights, and its
   moments become 0. */
void NAME(step)(const fleet *f, REAL *scratch, int64_t first, int64_t end) {
    const int64_t layers = f->layers, *widths = f->widths, most = NAME(largest)(f), chunk = NAME(chunk)(f);
    REAL *next = scratch;
#define ROOM(count) (next += NAME(whole)(count), next - NAME(whole)(count))
    REAL *panel = ROOM((most > chunk ? most : chunk) * PANEL), *above = ROOM(chunk * most), *below = ROOM(chunk * most);
    REAL *transposed[layers], *gradients[2 * layers], *received[layers], *given[layers], *tables[layers];
    for (int64_t l = 0; l < layers; l++) {
        transposed[l] = ROOM(widths[l] * widths[l + 1]);
        gradients[2 * l] = ROOM(widths[l] * widths[l + 1]);
        gradients[2 * l + 1] = ROOM(widths[l + 1]);
        if (l == layers - 1) break;
        received[l] = ROOM(chunk * widths[l + 1]);
        given[l] = ROOM(chunk * widths[l + 1]);
        tables[l] = ROOM(2 * (f->knots + 1));
    }
    int64_t *ends = (int64_t *)ROOM(2 * chunk);
    int32_t *columns = (int32_t *)ROOM(widths[0] * (chunk / FEW + 2));
    static REAL one = 1;
    const NAME(matrix) zero = {ROOM(most), 0, 1}, ones = {&one, 0, 0};
    memset(zero.at, 0, sizeof(REAL) * (size_t)most);
#undef ROOM
    for (int64_t run = first; run < end; run++) {
        const REAL *inputs = (const REAL *)f->inputs + run * f->inputs_stride, alpha = (REAL)f->prefactors[run];
        const char *targets = (const char *)f->targets;
        targets += run * f->targets_stride * (int64_t)(f->loss == MSE_OF_VALUES ? sizeof(REAL) : sizeof(int64_t));
        const function *functions = f->functions + run * f->functions_stride;
        REAL *weights[2 * layers];
        double loss = f->rows ? 0 : NAN; /* the mean of no rows */
        for (int64_t l = 0; l < layers; l++) {
            const int64_t from = widths[l], to = widths[l + 1];
            weights[2 * l] = (REAL *)f->weights[2 * l] + run * from * to;
            weights[2 * l + 1] = (REAL *)f->weights[2 * l + 1] + run * to;
            memset(gradients[2 * l], 0, sizeof(REAL) * (size_t)(from * to));
            memset(gradients[2 * l + 1], 0, sizeof(REAL) * (size_t)to);
            if (l > 0) NAME(transpose)(weights[2 * l], to, transposed[l], from, from, to);
            if (l < layers - 1 && functions[l].kind == SPLINE) NAME(fill)(functions + l, run, tables[l]);
        }
        for (int64_t start = 0; start < f->rows; start += chunk) {
            const int64_t rows = f->rows - start < chunk ? f->rows - start : chunk;
            const REAL *x = inputs + start * widths[0], *of_rows = x;
            const int few = NAME(few)(x, rows, widths[0], weights[0], widths[1], columns, ends);
            for (int64_t l = 0; l < layers; l++) {
                const int64_t from = widths[l], to = widths[l + 1];
                REAL *out = l < layers - 1 ? received[l] : above;
                if (l == 0 && few)
                    for (int64_t i = 0, at = 0; i < rows; i++) {
                        memcpy(out + i * to, weights[1], sizeof(REAL) * (size_t)to);
                        for (; at < ends[i]; at++)
                            NAME(add)(out + i * to, x[i * from + columns[at]], weights[0] + columns[at] * to, to);
                    }
                else
                    NAME(product)((NAME(matrix)){(REAL *)x, from, 1}, (NAME(matrix)){weights[2 * l], to, 1},
                                  (NAME(matrix)){weights[2 * l + 1], 0, 1}, (NAME(matrix)){out, to, 1}, rows, from, to,
                                  panel);
                if (l == layers - 1) break;
                NAME(activate)(functions + l, alpha, tables[l], out, given[l], rows * to);
                if (f->residual && l > 0)
                    for (int64_t i = 0; i < rows * to; i++) given[l][i] += x[i];
                x = given[l];
            }
            NAME(loss_backward)(f->loss, targets, start, above, rows, widths[layers], 1.0 / (double)f->rows, &loss);
            for (int64_t l = layers - 1; l >= 0; l--) { /* above: the gradient of what the layer gives */
                const int64_t from = widths[l], to = widths[l + 1];
                REAL *change = above;
                if (l < layers - 1) {
                    change = received[l];
                    for (int64_t i = 0; i < rows * to; i++) change[i] *= above[i];
                }
                const NAME(matrix) sum = {gradients[2 * l], to, 1}, bias = {gradients[2 * l + 1], 0, 1};
                if (l == 0 && few)
                    for (int64_t i = 0, at = 0; i < rows; i++)
                        for (; at < ends[i]; at++)
                            NAME(add)(sum.at + columns[at] * to, of_rows[i * from + columns[at]], change + i * to, to);
                else
                    NAME(product)((NAME(matrix)){l ? given[l - 1] : (REAL *)of_rows, 1, from},
                                  (NAME(matrix)){change, to, 1}, sum, sum, from, rows, to, panel);
                NAME(product)(ones, (NAME(matrix)){change, to, 1}, bias, bias, 1, rows, to, panel);
                if (l == 0) break;
                NAME(product)((NAME(matrix)){change, to, 1}, (NAME(matrix)){transposed[l], from, 1},
                              f->residual && l < layers - 1 ? (NAME(matrix)){above, to, 1} : zero,
                              (NAME(matrix)){below, from, 1}, rows, to, from, panel);
                REAL *other = above;
                above = below, below = other;
            }
        }
        ((REAL *)f->losses)[run] = (REAL)loss;
        const int lives = f->alive[run] && isfinite((REAL)loss);
        for (int64_t part = 0; part < 2 * layers; part++) {
            const int64_t count = widths[part / 2 + 1] * (part % 2 ? 1 : widths[part / 2]);
            REAL *mean = f->means[part] ? (REAL *)f->means[part] + run * count : NULL;
            REAL *square = f->squares[part] ? (REAL *)f->squares[part] + run * count : NULL;
            if (lives) {
                NAME(update)(f, (REAL)f->rates[run], (REAL)f->shrink[2 * run + part % 2], weights[part], gradients[part],
                             mean, square, count);
                continue;
            }
            if (mean) memset(mean, 0, sizeof(REAL) * (size_t)count);
            if (square) memset(square, 0, sizeof(REAL) * (size_t)count);
        }
    }
}
#undef LANES
#undef PANEL
#undef NAME
#undef REAL
#undef BITS
#undef MAGIC
#undef MANTISSA
#undef BIAS
#undef LIMIT
#undef DEGREE
#undef ROOT
