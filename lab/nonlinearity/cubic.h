/* The function for one type; cubic.c includes this with NAME(f) and REAL. */
typedef struct { REAL a, b, c, d; } NAME(piece);

/* Which piece each input is in, and where: t in it, and u, which is 0 in a straight one. NaN is NaN in the first. */
static inline void NAME(locate)(const REAL *restrict x, int32_t *restrict piece, REAL *restrict t, REAL *restrict u,
                                int size) {
    for (int i = 0; i < size; i++) {
        REAL p = (x[i] - LOW) * INVERSE, inside = p > 0 ? p : 0;
        inside = inside < INTERVALS ? inside : INTERVALS;
        const int32_t k = (int32_t)inside;
        const int beyond = p < 0 || p >= INTERVALS;
        piece[i] = p >= 0 ? k + 1 : 0;
        t[i] = p - (REAL)k;
        u[i] = beyond ? 0 : t[i];
    }
}

void NAME(forward)(const REAL *x, const REAL *pieces, REAL *y, int64_t count, int64_t slice, int64_t first, int64_t end,
                   int shared) {
    const int64_t slices = (count + slice - 1) / slice;
    for (int64_t item = first; item < end; item++) {
        const int64_t run = item / slices, begin = item % slices * slice;
        const int64_t stop = begin + slice < count ? begin + slice : count;
        const NAME(piece) *table = (const NAME(piece) *)pieces + (shared ? 0 : run * PIECES);
        for (int64_t at = begin; at < stop; at += BLOCK) {
            const int size = stop - at < BLOCK ? (int)(stop - at) : BLOCK;
            REAL *restrict out = y + run * count + at;
            int32_t piece[BLOCK];
            REAL t[BLOCK], u[BLOCK];
            NAME(piece) rows[BLOCK];
            NAME(locate)(x + run * count + at, piece, t, u, size);
            for (int i = 0; i < size; i++) rows[i] = table[piece[i]];
            for (int i = 0; i < size; i++)
                out[i] = rows[i].a + t[i] * (rows[i].b + u[i] * (rows[i].c + u[i] * rows[i].d));
        }
    }
}

/* gx: of the inputs, or NULL. partial: (runs · slices, PIECES, 4), of the pieces, or NULL; sums are double, in tables
   side by side, because an addition to a number that was just written waits for it. */
void NAME(backward)(const REAL *x, const REAL *g, const REAL *pieces, REAL *gx, double *partial, int64_t count,
                    int64_t slice, int64_t first, int64_t end, int shared) {
    const int64_t slices = (count + slice - 1) / slice;
    for (int64_t item = first; item < end; item++) {
        const int64_t run = item / slices, begin = item % slices * slice;
        const int64_t stop = begin + slice < count ? begin + slice : count;
        const NAME(piece) *table = (const NAME(piece) *)pieces + (shared ? 0 : run * PIECES);
        sum4 sums[PIECES][LANES];
        memset(sums, 0, sizeof sums);
        for (int64_t at = begin; at < stop; at += BLOCK) {
            const int size = stop - at < BLOCK ? (int)(stop - at) : BLOCK;
            const REAL *restrict grad = g + run * count + at;
            int32_t piece[BLOCK];
            REAL t[BLOCK], u[BLOCK];
            NAME(piece) rows[BLOCK];
            NAME(locate)(x + run * count + at, piece, t, u, size);
            if (gx) {
                REAL *restrict out = gx + run * count + at;
                for (int i = 0; i < size; i++) rows[i] = table[piece[i]];
                for (int i = 0; i < size; i++)
                    out[i] = INVERSE * grad[i] * (rows[i].b + u[i] * (2 * rows[i].c + u[i] * 3 * rows[i].d));
            }
            if (!partial) continue;
            for (int i = 0; i < size; i++) {
                const REAL b = grad[i] * t[i], c = b * u[i];
                rows[i] = (NAME(piece)){grad[i], b, c, c * u[i]};
            }
            for (int i = 0; i < size; i++)
                sums[piece[i]][i % LANES] += (sum4){rows[i].a, rows[i].b, rows[i].c, rows[i].d};
        }
        if (partial)
            for (int k = 0; k < PIECES; k++)
                for (int m = 0; m < 4; m++)
                    partial[(item * PIECES + k) * 4 + m] = sums[k][0][m] + sums[k][1][m] + sums[k][2][m] + sums[k][3][m];
    }
}
#undef NAME
#undef REAL
