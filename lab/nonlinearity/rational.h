/* (a0 + … + a5 x⁵) / (1 + |b1 x + … + b4 x⁴|) for one type. rational.c includes this with NAME(f) and REAL.
   Where |x| > 1 both polynomials are divided by x⁴, so that none overflows: v is 1 / x there, else x, and coefficients
   change places. The loops are plain, and the compiler makes vector instructions of them. */

/* What is shared by value and gradients: v, |x| > 1, the numerator over the denominator, and its inverse. */
#define PARTS                                                                                                         \
    const REAL x = in[i + lane];                                                                                      \
    const int far = x > 1 || x < -1;                                                                                  \
    const REAL v = far ? 1 / x : x, w = v * v;                                                                        \
    const REAL top = (far ? a[5] : a[0]) +                                                                            \
                     v * ((far ? a[4] : a[1]) +                                                                       \
                          v * ((far ? a[3] : a[2]) +                                                                  \
                               v * ((far ? a[2] : a[3]) + v * ((far ? a[1] : a[4]) + v * (far ? a[0] : a[5])))));     \
    const REAL inner = ((far ? b[3] : b[0]) + v * ((far ? b[2] : b[1]) + v * ((far ? b[1] : b[2]) +                   \
                        v * (far ? b[0] : b[3])))) * (far ? 1 : v);                                                   \
    const REAL inverse = 1 / ((far ? w * w : 1) + (inner < 0 ? -inner : inner)), ratio = top * inverse;

void NAME(forward)(const REAL *given, const REAL *coefficients, REAL *y, int64_t count, int64_t slice, int64_t first,
                   int64_t end, int shared) {
    const int64_t slices = (count + slice - 1) / slice;
    for (int64_t item = first; item < end; item++) {
        const int64_t run = item / slices, begin = item % slices * slice;
        const int64_t stop = begin + slice < count ? begin + slice : count;
        const REAL *a = coefficients + (shared ? 0 : 10 * run), *b = a + 6;
        for (int64_t at = begin; at < stop; at += BLOCK) {
            const int size = stop - at < BLOCK ? (int)(stop - at) : BLOCK, i = 0;
            const REAL *restrict in = given + run * count + at;
            REAL *restrict out = y + run * count + at;
            for (int lane = 0; lane < size; lane++) {
                PARTS
                out[lane] = (far ? x : 1) * ratio;
            }
        }
    }
}

typedef REAL NAME(vector) __attribute__((vector_size(64)));

/* gx: of the inputs, or NULL. partial: (runs · slices, 10), of the coefficients, or NULL: sums of share · v^m over the
   inputs near 0 and over those that are far, whose powers run the other way. Sums of a block are in the type itself,
   a vector of them side by side, those of blocks in double. */
void NAME(backward)(const REAL *given, const REAL *g, const REAL *coefficients, REAL *gx, double *partial,
                    int64_t count, int64_t slice, int64_t first, int64_t end, int shared) {
    const int64_t slices = (count + slice - 1) / slice;
    const int lanes = 64 / sizeof(REAL);
    for (int64_t item = first; item < end; item++) {
        const int64_t run = item / slices, begin = item % slices * slice;
        const int64_t stop = begin + slice < count ? begin + slice : count;
        const REAL *a = coefficients + (shared ? 0 : 10 * run), *b = a + 6;
        double total[10] = {0};
        for (int64_t at = begin; at < stop; at += BLOCK) {
            const int size = stop - at < BLOCK ? (int)(stop - at) : BLOCK, i = 0;
            const REAL *restrict in = given + run * count + at, *restrict grad = g + run * count + at;
            REAL slopes[BLOCK], base[BLOCK], shares[4][BLOCK]; /* of a near and far, of b near and far */
            for (int lane = 0; lane < size; lane++) {
                PARTS
                const REAL signed_ratio = inner > 0 ? ratio : inner < 0 ? -ratio : 0 * inner;
                const REAL up = (far ? 5 * a[5] : a[1]) +
                                v * ((far ? 4 * a[4] : 2 * a[2]) +
                                     v * (3 * a[3] + v * ((far ? 2 * a[2] : 4 * a[4]) + v * (far ? a[1] : 5 * a[5]))));
                const REAL down = (far ? 4 * b[3] : b[0]) + v * ((far ? 3 * b[2] : 2 * b[1]) +
                                  v * ((far ? 2 * b[1] : 3 * b[2]) + v * (far ? b[0] : 4 * b[3])));
                slopes[lane] = grad[lane] * (up - signed_ratio * down) * inverse;
                const REAL share = grad[lane] * inverse * (far ? x : 1), other = -signed_ratio * share;
                base[lane] = v;
                shares[0][lane] = far ? 0 : share;
                shares[1][lane] = far ? share : 0;
                shares[2][lane] = far ? 0 : other;
                shares[3][lane] = far ? other : 0;
            }
            if (gx) memcpy(gx + run * count + at, slopes, sizeof(REAL) * (size_t)size);
            if (!partial) continue;
            for (int k = size; k % lanes; k++) base[k] = shares[0][k] = shares[1][k] = shares[2][k] = shares[3][k] = 0;
            NAME(vector) sums[4][6] = {{{0}}}, v, share;
            for (int k = 0; k < size; k += lanes) {
                memcpy(&v, base + k, sizeof v);
                for (int part = 0; part < 4; part++) {
                    memcpy(&share, shares[part] + k, sizeof share);
                    for (int m = 0; m < 6; m++, share *= v) sums[part][m] += share;
                }
            }
            for (int lane = 0; lane < lanes; lane++) {
                for (int k = 0; k < 6; k++) total[k] += sums[0][k][lane] + sums[1][5 - k][lane];
                for (int j = 1; j < 5; j++) total[5 + j] += sums[2][j][lane] + sums[3][4 - j][lane];
            }
        }
        if (partial) memcpy(partial + 10 * item, total, sizeof total);
    }
}
#undef PARTS
#undef NAME
#undef REAL
