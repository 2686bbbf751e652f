/* Attention to few tokens, for one type of numbers; blocks.h includes this once a type. */

/* Attention works on LANES sequences side by side: each number below is a vector with one of each. Of tokens, heads and
   channels of a head the last lie side by side; scores are (queries, keys, heads). */
typedef struct {
    NAME(vector) *q, *k, *v, *a, *norm, *u, *slope, *slopes; /* u: what is summed up; slopes: of queries, then of keys */
} NAME(lanes);

/* Where these are within `room`; where all of it ends. */
static NAME(vector) *NAME(divide)(const block *f, NAME(vector) *room, NAME(lanes) *to) {
    const int64_t pairs = f->queries * f->keys, channels = f->heads * f->width, q = f->queries * channels;
    const int64_t k = f->keys * channels, u = f->pair ? pairs * f->width : f->value.kind == IDENTITY ? 0 : k;
    to->q = room, to->k = to->q + q, to->v = to->k + k, to->a = to->v + k, to->norm = to->a + pairs * f->heads;
    to->slope = to->norm + (f->weighting == KERNEL ? f->queries * f->heads : f->weighting == RMS_HEAD ? pairs : 0);
    to->u = u ? to->slope + u : to->v, to->slopes = to->slope + 2 * u;
    return to->slopes + (f->weighting == KERNEL ? q + k : 0);
}

/* Between sequences (batch, tokens, width) and lanes (tokens, width). */
static void NAME(gather)(const REAL *from, NAME(vector) *to, int64_t some, int64_t tokens, int64_t width) {
    if (some < LANES) memset(to, 0, sizeof(*to) * (size_t)(tokens * width));
    THEIR(transpose)(from, tokens * width, (REAL *)to, LANES, some, tokens * width);
}
static void NAME(scatter)(const NAME(vector) *from, REAL *to, int64_t some, int64_t tokens, int64_t width) {
    THEIR(transpose)((const REAL *)from, LANES, to, tokens * width, tokens * width, some);
}

static void NAME(weigh)(const block *f, NAME(lanes) s, const REAL *relative) {
    const int64_t heads = f->heads, width = f->width;
    NAME(vector) some[heads];
    for (int64_t i = 0; i < f->queries; i++) {
        NAME(vector) *row = s.a + i * f->keys * heads;
        const int64_t visible = f->visible[i];
        for (int64_t j = 0; j < visible; j++)
            for (int64_t h = 0; h < heads; h++) {
                const NAME(vector) *q = s.q + (i * heads + h) * width, *k = s.k + (j * heads + h) * width;
                NAME(vector) sum = {0};
                for (int64_t e = 0; e < width; e++) sum += q[e] * k[e];
                const REAL by = relative ? relative[h * f->buckets + f->bucket[i * f->keys + j]] : f->weighting == KERNEL;
                row[j * heads + h] = f->weighting == KERNEL ? sum * by : sum * (REAL)f->scale + by;
            }
        if (f->weighting == SOFTMAX || f->weighting == KERNEL) {
            for (int64_t h = 0; h < heads; h++) some[h] = row[h];
            if (f->weighting == SOFTMAX) {
                for (int64_t j = 1; j < visible; j++)
                    for (int64_t n = 0; n < heads * LANES; n++) {
                        const REAL next = ((REAL *)(row + j * heads))[n];
                        ((REAL *)some)[n] = next > ((REAL *)some)[n] ? next : ((REAL *)some)[n];
                    }
                for (int64_t j = 0; j < visible; j++)
                    for (int64_t h = 0; h < heads; h++) row[j * heads + h] -= some[h];
                for (int64_t n = 0; n < visible * heads * LANES; n++)
                    ((REAL *)row)[n] = THEIR(exponential)(((REAL *)row)[n], 0);
                for (int64_t h = 0; h < heads; h++) some[h] = row[h];
            }
            for (int64_t j = 1; j < visible; j++)
                for (int64_t h = 0; h < heads; h++) some[h] += row[j * heads + h];
            for (int64_t h = 0; h < heads; h++) some[h] = 1 / (some[h] + (REAL)f->least);
            for (int64_t j = 0; j < visible; j++)
                for (int64_t h = 0; h < heads; h++) row[j * heads + h] *= some[h];
            if (f->weighting == KERNEL) memcpy(s.norm + i * heads, some, sizeof some);
        }
        if (f->weighting == RMS_HEAD)
            for (int64_t j = 0; j < visible; j++) {
                NAME(vector) square = {0};
                for (int64_t h = 0; h < heads; h++) square += row[j * heads + h] * row[j * heads + h];
                square = square / (REAL)heads + (REAL)f->least;
                for (int64_t l = 0; l < LANES; l++) square[l] = 1 / ROOT(square[l]);
                s.norm[i * f->keys + j] = square;
                for (int64_t h = 0; h < heads; h++) row[j * heads + h] *= square;
            }
    }
}

/* z (sequences, queries, heads · width) of q, k, v (sequences, tokens, the same); `s` keeps what gradients need. */
static void NAME(attend)(const block *f, int64_t run, REAL *const *given, REAL *z, NAME(lanes) s, REAL *const *tables,
                         NAME(vector) *out, int64_t some) {
    const int64_t heads = f->heads, width = f->width, channels = heads * width, size = f->queries * channels;
    NAME(vector) *to[] = {s.q, s.k, s.v};
    for (int64_t part = 0; part < 3; part++) {
        const int64_t tokens = part ? f->keys : f->queries, is_kernel = f->weighting == KERNEL && part < 2;
        NAME(vector) *in = is_kernel ? s.slopes + part * size : to[part];
        NAME(gather)(given[part], in, some, tokens, channels);
        if (!is_kernel) continue;
        REAL *value = (REAL *)to[part], *slope = (REAL *)in;
        THEIR(activate)(&f->kernel, 1, tables[2], slope, value, tokens * channels * LANES);
        for (int64_t n = 0; n < tokens * channels * LANES; n++) {
            slope[n] = value[n] > 0 ? slope[n] : 0;
            value[n] = value[n] < 0 ? 0 : value[n];
        }
    }
    NAME(weigh)(f, s, f->relative ? (const REAL *)f->relative + (f->own ? run * heads * f->buckets : 0) : NULL);
    if (!f->pair && s.u != s.v) {
        memcpy(s.slope, s.v, sizeof(*s.v) * (size_t)(f->keys * channels));
        THEIR(activate)(&f->value, 1, tables[1], (REAL *)s.slope, (REAL *)s.u, f->keys * channels * LANES);
    }
    memset(out, 0, sizeof(*out) * (size_t)size);
    for (int64_t i = 0; i < f->queries; i++) {
        const REAL *keep = f->keep ? (const REAL *)f->keep + run * f->keep_stride + i * f->keys : NULL;
        const NAME(vector) *row = s.a + i * f->keys * heads;
        NAME(vector) *u = f->pair ? s.u + i * f->keys * width : s.u, *in = s.slope + i * f->keys * width;
        if (f->pair) {
            for (int64_t j = 0; j < f->visible[i]; j++)
                for (int64_t e = 0; e < width; e++) {
                    NAME(vector) sum = {0};
                    for (int64_t h = 0; h < heads; h++) sum += row[j * heads + h] * s.v[(j * heads + h) * width + e];
                    in[j * width + e] = sum * (keep ? keep[j] : 1);
                }
            THEIR(activate)(&f->value, 1, tables[1], (REAL *)in, (REAL *)u, f->visible[i] * width * LANES);
        }
        for (int64_t j = 0; j < f->visible[i]; j++)
            for (int64_t h = 0; h < heads; h++) {
                const NAME(vector) a = row[j * heads + h] * (keep ? keep[j] : 1);
                const NAME(vector) *from = u + (f->pair ? j : j * heads + h) * width;
                for (int64_t e = 0; e < width; e++) out[(i * heads + h) * width + e] += a * from[e];
            }
    }
    NAME(scatter)(out, z, some, f->queries, channels);
}

/* Gradients of q, k, v, and of the biases of scores, in lanes (`sums`); room: for attend_room vectors. */
static int64_t NAME(attend_room)(const block *f) {
    return (2 * f->queries + 2 * f->keys) * f->heads * f->width + (f->keys + 1) * f->heads + f->width;
}
static void NAME(attend_backward)(const block *f, int64_t run, const REAL *of_z, NAME(lanes) s, REAL *const *of_given,
                                  NAME(vector) *sums, NAME(vector) *room, int64_t some) {
    const int64_t heads = f->heads, width = f->width, channels = heads * width;
    const int64_t q = f->queries * channels, k = f->keys * channels;
    const REAL *relative = f->relative ? (const REAL *)f->relative + (f->own ? run * heads * f->buckets : 0) : NULL;
    NAME(vector) *dz = room, *dq = dz + q, *dk = dq + q, *dv = dk + k, *da = dv + k, *mean = da + f->keys * heads;
    NAME(vector) *dp = mean + heads, *parts[] = {dq, dk, dv};
    NAME(gather)(of_z, dz, some, f->queries, channels);
    memset(dq, 0, sizeof(*dq) * (size_t)(q + 2 * k));
    for (int64_t i = 0; i < f->queries; i++) {
        const REAL *keep = f->keep ? (const REAL *)f->keep + run * f->keep_stride + i * f->keys : NULL;
        const NAME(vector) *row = s.a + i * f->keys * heads, *g = dz + i * channels;
        const int64_t visible = f->visible[i];
        for (int64_t j = 0; j < visible; j++) {
            const REAL by = keep ? keep[j] : 1;
            const NAME(vector) *u = s.u + (f->pair ? (i * f->keys + j) * width : j * channels);
            NAME(vector) *to = dv + j * channels, *v = s.v + j * channels, *d = da + j * heads;
            if (f->pair) {
                memset(dp, 0, sizeof(*dp) * (size_t)width);
                for (int64_t h = 0; h < heads; h++)
                    for (int64_t e = 0; e < width; e++) dp[e] += row[j * heads + h] * g[h * width + e];
                for (int64_t e = 0; e < width; e++) dp[e] *= by * s.slope[(i * f->keys + j) * width + e];
            }
            for (int64_t h = 0; h < heads; h++) {
                const NAME(vector) a = row[j * heads + h] * by;
                NAME(vector) sum = {0};
                for (int64_t e = 0, n = h * width; e < width; e++, n++) {
                    sum += g[n] * u[f->pair ? e : n];
                    if (f->pair) sum += dp[e] * v[n];
                    to[n] += a * (f->pair ? dp[e] : g[n]);
                }
                d[h] = sum * by;
            }
        }
        if (f->weighting == SOFTMAX || f->weighting == KERNEL) {
            memset(mean, 0, sizeof(*mean) * (size_t)heads);
            for (int64_t j = 0; j < visible; j++)
                for (int64_t h = 0; h < heads; h++) mean[h] += da[j * heads + h] * row[j * heads + h];
            for (int64_t j = 0; j < visible; j++)
                for (int64_t h = 0; h < heads; h++)
                    da[j * heads + h] = (da[j * heads + h] - mean[h]) *
                                        (f->weighting == KERNEL ? s.norm[i * heads + h] : row[j * heads + h]);
        }
        if (f->weighting == RMS_HEAD)
            for (int64_t j = 0; j < visible; j++) {
                NAME(vector) sum = {0};
                for (int64_t h = 0; h < heads; h++) sum += da[j * heads + h] * row[j * heads + h];
                sum /= (REAL)heads;
                for (int64_t h = 0; h < heads; h++)
                    da[j * heads + h] = s.norm[i * f->keys + j] * (da[j * heads + h] - row[j * heads + h] * sum);
            }
        for (int64_t j = 0; j < visible; j++)
            for (int64_t h = 0; h < heads; h++) {
                const int64_t number = relative ? h * f->buckets + f->bucket[i * f->keys + j] : 0;
                if (f->of_relative) sums[number] += da[j * heads + h];
                const REAL by = f->weighting != KERNEL ? (REAL)f->scale : relative ? relative[number] : 1;
                const NAME(vector) d = da[j * heads + h] * by;
                for (int64_t e = 0, n = h * width; e < width; e++, n++) {
                    dq[i * channels + n] += d * s.k[j * channels + n];
                    dk[j * channels + n] += d * s.q[i * channels + n];
                }
            }
    }
    if (f->weighting == KERNEL)
        for (int64_t n = 0; n < q + k; n++) dq[n] *= s.slopes[n];
    if (!f->pair && s.u != s.v)
        for (int64_t n = 0; n < k; n++) dv[n] *= s.slope[n];
    for (int64_t part = 0; part < 3; part++)
        NAME(scatter)(parts[part], of_given[part], some, part ? f->keys : f->queries, channels);
}
