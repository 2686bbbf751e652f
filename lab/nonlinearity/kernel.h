/* The spline for one type of input. kernel.c includes this once a type, with
     NAME(f)  the function's name with the type's suffix
     ELEMENT  how inputs, outputs and gradients are stored; READ and WRITE turn it into REAL and back
     REAL     in what is computed: float, or double for double.
   Blocks go through small buffers that stay in the first-level cache, in three loops: where is each input, look it up,
   compute. The first and the last are plain loops that the compiler turns into vector instructions, whatever the
   processor has. The look-up copies one pair (value, rise to the next knot) an input: on the processors where it was
   measured, two 4-byte vector gathers take more than twice as long. */

typedef struct { REAL left, rise; } NAME(pair);

/* Where inputs lie: interval and fraction. Beyond the ends the fraction is 0 on the end's own knot, so that the end
   value comes out exactly; NaN keeps a NaN fraction, in interval 0. */
static inline void NAME(locate)(const ELEMENT *x, int32_t *interval, REAL *fraction, int size, int last, REAL low,
                                REAL inverse) {
    for (int i = 0; i < size; i++) {
        REAL t = (READ(x[i]) - low) * inverse;
        t = t < 0 ? 0 : t;
        t = t > (REAL)last ? (REAL)last : t;
        int32_t k = (int32_t)(t > 0 ? t : 0); /* the comparison turns NaN, which has no whole number, into 0 */
        interval[i] = k;
        fraction[i] = t - (REAL)k;
    }
}

/* Which slope inputs have: entry 0 is left of the table, 1 … last its intervals, last + 1 right of it, last + 2 NaN. */
static inline void NAME(locate_slope)(const ELEMENT *x, int32_t *entry, int size, int last, REAL low, REAL inverse) {
    for (int i = 0; i < size; i++) {
        REAL t = (READ(x[i]) - low) * inverse, c = t > 0 ? t : 0;
        c = c < (REAL)last ? c : (REAL)last;
        int32_t k = (int32_t)c + 1;
        k = t < 0 ? 0 : k;
        entry[i] = t == t ? k : last + 2;
    }
}

int NAME(forward)(const ELEMENT *x, const REAL *knots, ELEMENT *y, int64_t count, int64_t slice, int64_t first,
                  int64_t end, int shared, int n, double low_, double inverse_) {
    const int64_t slices = (count + slice - 1) / slice;
    const REAL low = (REAL)low_, inverse = (REAL)inverse_;
    NAME(pair) *table = malloc(sizeof(*table) * (size_t)n);
    if (!table) return 1;
    for (int64_t item = first; item < end; item++) {
        const int64_t run = item / slices, begin = item % slices * slice;
        const int64_t stop = begin + slice < count ? begin + slice : count;
        if (item == first || (!shared && begin == 0)) {
            const REAL *v = knots + (shared ? 0 : run * n);
            for (int k = 0; k < n - 1; k++) table[k] = (NAME(pair)){v[k], v[k + 1] - v[k]};
            table[n - 1] = (NAME(pair)){v[n - 1], 0};
        }
        for (int64_t at = begin; at < stop; at += BLOCK) {
            const int size = stop - at < BLOCK ? (int)(stop - at) : BLOCK;
            const ELEMENT *in = x + run * count + at;
            ELEMENT *restrict out = y + run * count + at;
            int32_t interval[BLOCK];
            REAL fraction[BLOCK];
            NAME(pair) found[BLOCK];
            NAME(locate)(in, interval, fraction, size, n - 1, low, inverse);
            for (int i = 0; i < size; i++) found[i] = table[interval[i]];
            for (int i = 0; i < size; i++) out[i] = WRITE(found[i].left + fraction[i] * found[i].rise);
        }
    }
    free(table);
    return 0;
}

/* Gradients, in one pass over x and g. gx: of the inputs, or NULL. partial: (runs · slices, n), of the knots, or NULL;
   with `slope` it is instead the gradient of Σ g φ'(x). Sums are double, so that a million terms cost no digits; four
   tables side by side, because an addition to a number that was just written waits for it. */
int NAME(backward)(const ELEMENT *x, const ELEMENT *g, const REAL *knots, ELEMENT *gx, double *partial, int slope,
                   int64_t count, int64_t slice, int64_t first, int64_t end, int shared, int n, double low_,
                   double inverse_) {
    const int64_t slices = (count + slice - 1) / slice;
    const int last = n - 1;
    const REAL low = (REAL)low_, inverse = (REAL)inverse_;
    REAL *slopes = malloc(sizeof(*slopes) * (size_t)(n + 2));
    sum2 *sums = partial ? malloc(sizeof(*sums) * LANES * (size_t)n) : NULL;
    if (!slopes || (partial && !sums)) {
        free(slopes);
        free(sums);
        return 1;
    }
    for (int64_t item = first; item < end; item++) {
        const int64_t run = item / slices, begin = item % slices * slice;
        const int64_t stop = begin + slice < count ? begin + slice : count;
        if (gx && (item == first || (!shared && begin == 0))) {
            const REAL *v = knots + (shared ? 0 : run * n);
            slopes[0] = slopes[n] = 0;
            slopes[n + 1] = (REAL)NAN;
            for (int k = 0; k < last; k++) slopes[k + 1] = (v[k + 1] - v[k]) * inverse;
        }
        if (partial) memset(sums, 0, sizeof(*sums) * LANES * (size_t)n);
        for (int64_t at = begin; at < stop; at += BLOCK) {
            const int size = stop - at < BLOCK ? (int)(stop - at) : BLOCK;
            const ELEMENT *in = x + run * count + at, *gr = g + run * count + at;
            int32_t interval[BLOCK];
            if (gx) {
                ELEMENT *restrict out = gx + run * count + at;
                REAL found[BLOCK];
                NAME(locate_slope)(in, interval, size, last, low, inverse);
                for (int i = 0; i < size; i++) found[i] = slopes[interval[i]];
                for (int i = 0; i < size; i++) out[i] = WRITE(READ(gr[i]) * found[i]);
            }
            if (partial) {
                REAL fraction[BLOCK];
                NAME(pair) shares[BLOCK];
                NAME(locate)(in, interval, fraction, size, last, low, inverse);
                if (slope) {
                    for (int i = 0; i < size; i++) {
                        REAL t = (READ(in[i]) - low) * inverse, d = READ(gr[i]) * inverse;
                        d = t >= 0 ? d : 0;
                        d = t < (REAL)last ? d : 0;
                        d += fraction[i] - fraction[i]; /* 0, or NaN */
                        shares[i] = (NAME(pair)){-d, d};
                    }
                } else {
                    for (int i = 0; i < size; i++) {
                        REAL d = READ(gr[i]), right = d * fraction[i];
                        shares[i] = (NAME(pair)){d - right, right};
                    }
                }
                int i = 0;
                for (; i + LANES <= size; i += LANES)
                    for (int lane = 0; lane < LANES; lane++) {
                        const NAME(pair) share = shares[i + lane];
                        sums[(int64_t)interval[i + lane] * LANES + lane] += (sum2){share.left, share.rise};
                    }
                for (; i < size; i++)
                    sums[(int64_t)interval[i] * LANES] += (sum2){shares[i].left, shares[i].rise};
            }
        }
        if (partial) {
            double *total = partial + item * n, right = 0;
            for (int k = 0; k < n; k++) {
                sum2 sum = sums[(int64_t)k * LANES];
                for (int lane = 1; lane < LANES; lane++) sum += sums[(int64_t)k * LANES + lane];
                total[k] = right + sum[0];
                right = sum[1];
            }
        }
    }
    free(slopes);
    free(sums);
    return 0;
}
#undef NAME
#undef ELEMENT
#undef REAL
#undef READ
#undef WRITE
