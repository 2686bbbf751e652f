/* For one type of numbers; blocks.c includes this once a type. In a chunk, rows are tokens of sequences. */

typedef REAL NAME(vector) __attribute__((vector_size(VECTOR), aligned(sizeof(REAL)), may_alias));
#define LANES ((int64_t)(VECTOR / sizeof(REAL)))
#define AT(pointer) (*(NAME(vector) *)(pointer))
#define MATRIX(at, down) ((THEIR(matrix)){(REAL *)(at), down, 1})
#define TURNED(at, down) ((THEIR(matrix)){(REAL *)(at), 1, down})

static inline REAL NAME(total)(NAME(vector) lanes) {
    REAL part[VECTOR / sizeof(REAL)];
    memcpy(part, &lanes, sizeof part);
    for (int64_t half = LANES / 2; half; half /= 2)
        for (int64_t i = 0; i < half; i++) part[i] += part[i + half];
    return part[0];
}

/* Adds the sums of columns. */
static void NAME(add_sums)(const REAL *x, REAL *sums, int64_t rows, int64_t width) {
    int64_t c = 0;
    for (; c + LANES <= width; c += LANES) {
        NAME(vector) sum = {0};
        for (int64_t i = 0; i < rows; i++) sum += AT(x + i * width + c);
        AT(sums + c) += sum;
    }
    for (; c < width; c++)
        for (int64_t i = 0; i < rows; i++) sums[c] += x[i * width + c];
}

/* y = norm(x) · weight + shift. stats (rows, 2): mean, and one over the deviation. */
static void NAME(norm)(const layer *l, int64_t run, double epsilon, const REAL *x, REAL *y, REAL *stats, int64_t rows,
                       int64_t width) {
    const REAL *weight = (const REAL *)l->weight + run * width, *shift = (const REAL *)l->bias + run * width;
    const int64_t whole = width / LANES * LANES;
    for (int64_t row = 0; row < rows; row++, x += width, y += width, stats += 2) {
        NAME(vector) part = {0};
        REAL mean = 0, square = 0;
        for (int64_t c = 0; c < whole; c += LANES) part += AT(x + c);
        for (int64_t c = whole; c < width; c++) mean += x[c];
        mean = (mean + NAME(total)(part)) / (REAL)width;
        part -= part;
        for (int64_t c = 0; c < whole; c += LANES) part += (AT(x + c) - mean) * (AT(x + c) - mean);
        for (int64_t c = whole; c < width; c++) square += (x[c] - mean) * (x[c] - mean);
        const REAL variance = (square + NAME(total)(part)) / (REAL)width + (REAL)epsilon;
        const REAL inverse = 1 / ROOT(variance) + 0 * variance; /* NaN where it is infinite, as torch's gradients are */
        for (int64_t c = 0; c < width; c++) y[c] = (x[c] - mean) * inverse * weight[c] + shift[c];
        stats[0] = mean, stats[1] = inverse;
    }
}

/* g becomes the gradient of x, and is increased by `more`, unless NULL. */
static void NAME(norm_backward)(const layer *l, int64_t run, REAL *g, const REAL *x, const REAL *stats, const REAL *more,
                                int64_t rows, int64_t width) {
    const REAL *weight = (const REAL *)l->weight + run * width;
    REAL *of_weight = (REAL *)l->of_weight + run * width;
    const int64_t whole = width / LANES * LANES;
    NAME(add_sums)(g, (REAL *)l->of_bias + run * width, rows, width);
    for (int64_t row = 0; row < rows; row++, g += width, x += width, stats += 2) {
        const REAL mean = stats[0], inverse = stats[1];
        NAME(vector) parts = {0}, along = {0};
        REAL plain = 0, turned = 0;
        for (int64_t c = 0; c < whole; c += LANES) {
            const NAME(vector) n = (AT(x + c) - mean) * inverse, h = AT(g + c) * AT(weight + c);
            AT(of_weight + c) += n * AT(g + c);
            parts += h, along += h * n;
        }
        for (int64_t c = whole; c < width; c++) {
            const REAL n = (x[c] - mean) * inverse, h = g[c] * weight[c];
            of_weight[c] += n * g[c];
            plain += h, turned += h * n;
        }
        plain = (plain + NAME(total)(parts)) / (REAL)width;
        turned = (turned + NAME(total)(along)) / (REAL)width;
        for (int64_t c = 0; c < width; c++)
            g[c] = inverse * (g[c] * weight[c] - plain - (x[c] - mean) * inverse * turned);
        if (!more) continue;
        for (int64_t c = 0; c < width; c++) g[c] += more[c];
        more += width;
    }
}

/* A spline's table for a run, in memory of its own. */
static REAL *NAME(table)(const function *phi, int64_t run) {
    REAL *table = malloc(sizeof(REAL) * (size_t)(2 * phi->knots + 2));
    if (table && phi->kind == SPLINE) THEIR(fill)(phi, run, table);
    return table;
}

/* y = x + Σ_j weight_j x of j tokens before, for sequences side by side. */
static void NAME(canon)(const layer *l, int64_t run, const REAL *x, REAL *y, int64_t some, int64_t tokens) {
    const int64_t width = l->outputs;
    const REAL *weight = (const REAL *)l->weight + run * l->inputs * l->down;
    for (int64_t row = 0; row < some * tokens; row++, x += width, y += width) {
        for (int64_t c = 0; c < width; c++) y[c] = x[c] + x[c] * weight[c];
        for (int64_t j = 1; j < l->inputs && j <= row % tokens; j++)
            for (int64_t c = 0; c < width; c++) y[c] += x[c - j * width] * weight[j * l->down + c];
    }
}

static void NAME(canon_backward)(const layer *l, int64_t run, REAL *g, const REAL *x, int64_t some, int64_t tokens) {
    const int64_t width = l->outputs;
    const REAL *weight = (const REAL *)l->weight + run * l->inputs * l->down;
    REAL *of_weight = (REAL *)l->of_weight + run * l->inputs * l->down;
    for (int64_t row = 0; row < some * tokens; row++, x += width, g += width) {
        for (int64_t j = 0; j < l->inputs && j <= row % tokens; j++)
            for (int64_t c = 0; c < width; c++) of_weight[j * l->down + c] += g[c] * x[c - j * width];
        for (int64_t c = 0; c < width; c++) g[c] += g[c] * weight[c];
        for (int64_t j = 1; j < l->inputs && j < tokens - row % tokens; j++)
            for (int64_t c = 0; c < width; c++) g[c] += g[c + j * width] * weight[j * l->down + c];
    }
}

#include "attention.h"

/* What gradients need of a block and a chunk of sequences. */
typedef struct {
    REAL *x, *normal, *given, *maps, *lanes, *z, *sum, *y, *inside, *h, *slope, *value, *top, *stats[3];
} NAME(saved);

#define TAKE(to, count) ((to) = room, room += ((count) + LANES - 1) / LANES * LANES)
static REAL *NAME(share)(const block *f, REAL *room, int64_t some, NAME(saved) *to) {
    const int64_t n = some * f->keys, m = some * f->queries, width = f->out.outputs, hidden = f->up.outputs;
    const int64_t channels = f->out.inputs;
    NAME(lanes) lanes;
    const int64_t vectors = NAME(divide)(f, NULL, &lanes) - (NAME(vector) *)NULL;
    TAKE(to->x, n * width), TAKE(to->stats[0], 2 * n), TAKE(to->stats[1], 2 * m), TAKE(to->stats[2], 2 * m);
    TAKE(to->normal, f->first.weight ? n * width : 0), TAKE(to->given, f->canon[0].weight ? n * width : 0);
    TAKE(to->maps, f->canon[1].weight ? 3 * n * channels : 0);
    TAKE(to->lanes, (some + LANES - 1) / LANES * vectors * LANES), TAKE(to->z, m * channels), TAKE(to->sum, m * width);
    TAKE(to->y, m * width), TAKE(to->inside, f->canon[2].weight ? m * width : 0), TAKE(to->slope, m * hidden);
    TAKE(to->h, f->canon[3].weight ? m * hidden : 0), TAKE(to->value, m * hidden);
    TAKE(to->top, f->last.weight ? m * width : 0);
    if (!f->first.weight) to->normal = to->x;
    if (!f->canon[0].weight) to->given = to->normal;
    if (!f->canon[2].weight) to->inside = to->y;
    if (!f->canon[3].weight) to->h = to->slope;
    return room;
}

/* Room for a chunk's work, and for the transposed weights of each block and the gradients of its biases of scores. */
typedef struct {
    REAL *all, *panel, *zeros, *parts[3], *rows, *g, *one, *two, *hidden, *z, *lanes, *logits, *head, **turned;
    NAME(vector) **biases;
} NAME(desk);

static int64_t NAME(chunk)(const stack *s) { /* sequences: about a hundred rows, or more where sequences are long */
    const int64_t times = 96 / (LANES * s->block->keys);
    return LANES * (times > 1 ? times : 1);
}

static int NAME(furnish)(const stack *s, NAME(desk) *to) {
    const block *f = s->block;
    const int64_t n = NAME(chunk)(s) * f->keys, width = f->out.outputs, hidden = f->up.outputs, channels = f->out.inputs;
    const int64_t some = hidden > width ? hidden : width, wider = some > channels ? some : channels;
    const int64_t widest = wider > s->classes ? wider : s->classes;
    to->all = NULL, to->turned = malloc(sizeof(REAL *) * (size_t)(7 * s->blocks));
    to->biases = (NAME(vector) **)to->turned + 6 * s->blocks;
    for (int pass = 0; to->turned && pass < 2; pass++) { /* how much it is; where it is */
        REAL *room = to->all;
        TAKE(to->panel, 2 * LANES * (n > widest ? n : widest)), TAKE(to->zeros, widest + 2 * LANES);
        for (int64_t part = 0; part < 3; part++) TAKE(to->parts[part], n * channels);
        TAKE(to->rows, n * width), TAKE(to->g, n * width), TAKE(to->one, n * width), TAKE(to->two, n * width);
        TAKE(to->hidden, n * hidden), TAKE(to->z, n * channels), TAKE(to->lanes, NAME(attend_room)(f) * LANES);
        TAKE(to->logits, n * s->classes), TAKE(to->head, width * s->classes);
        for (int64_t b = 0; b < s->blocks; b++) {
            const layer *layers[] = {f[b].maps, f[b].maps + 1, f[b].maps + 2, &f[b].out, &f[b].up, &f[b].lower};
            for (int64_t l = 0; l < 6; l++) TAKE(to->turned[6 * b + l], layers[l]->inputs * layers[l]->outputs);
            to->biases[b] = (NAME(vector) *)room;
            room += f[b].of_relative ? f[b].heads * f[b].buckets * LANES : 0;
        }
        if (pass == 0) to->all = aligned_alloc(64, (sizeof(REAL) * (size_t)(room - to->all) + 63) / 64 * 64);
        if (!to->all) break;
    }
    if (to->all) memset(to->zeros, 0, sizeof(REAL) * (size_t)(widest + 2 * LANES));
    return to->all == NULL;
}

static REAL *NAME(of_run)(const void *weight, const layer *l, int64_t run) {
    return (REAL *)weight + run * l->inputs * l->down;
}

/* y = start + x W, for rows. */
static void NAME(through)(const layer *l, int64_t run, const REAL *x, THEIR(matrix) start, REAL *y, int64_t rows,
                          REAL *panel) {
    THEIR(product)(MATRIX(x, l->inputs), MATRIX(NAME(of_run)(l->weight, l, run), l->down), start, MATRIX(y, l->outputs),
                   rows, l->inputs, l->outputs, panel);
}

/* Adds to the gradients of a layer; of_x = start + g Wᵀ. turned: Wᵀ. */
static void NAME(back)(const layer *l, int64_t run, const REAL *g, const REAL *x, const REAL *turned, THEIR(matrix) start,
                       REAL *of_x, int64_t rows, REAL *panel) {
    const THEIR(matrix) sum = MATRIX(NAME(of_run)(l->of_weight, l, run), l->down);
    NAME(add_sums)(g, (REAL *)l->of_bias + run * l->down, rows, l->outputs);
    THEIR(product)(TURNED(x, l->inputs), MATRIX(g, l->outputs), sum, sum, l->inputs, rows, l->outputs, panel);
    THEIR(product)(MATRIX(g, l->outputs), MATRIX(turned, l->inputs), start, MATRIX(of_x, l->inputs), rows, l->outputs,
                   l->inputs, panel);
}

/* The rows that are wanted of each sequence: to = from; with `add`, from += to at their places. */
static void NAME(choose)(const block *f, REAL *from, REAL *to, int64_t some, int add) {
    const int64_t width = f->out.outputs;
    for (int64_t i = 0; i < some * f->queries; i++, to += width) {
        REAL *at = from + (i / f->queries * f->keys + f->rows[i % f->queries]) * width;
        for (int64_t c = 0; add && c < width; c++) at[c] += to[c];
        if (!add) memcpy(to, at, sizeof(REAL) * (size_t)width);
    }
}

/* A Canon layer's part for queries, keys or values. */
static layer NAME(part_of)(layer canon, int64_t part) {
    canon.weight = (const REAL *)canon.weight + part * canon.outputs;
    canon.of_weight = (REAL *)canon.of_weight + part * canon.outputs;
    return canon;
}

static void NAME(block_forward)(const block *f, int64_t run, NAME(saved) s, REAL *y, NAME(desk) d, REAL *const *tables,
                                int64_t some) {
    const int64_t n = some * f->keys, m = some * f->queries, width = f->out.outputs, channels = f->out.inputs;
    const REAL *residual = s.x, *bias = (const REAL *)f->out.bias + run * width;
    if (f->first.weight) NAME(norm)(&f->first, run, f->epsilon, s.x, s.normal, s.stats[0], n, width);
    if (f->canon[0].weight) NAME(canon)(f->canon, run, s.normal, s.given, some, f->keys);
    for (int64_t part = 0; part < 3; part++) {
        const THEIR(matrix) start = {(REAL *)f->maps[part].bias + run * f->maps[part].down, 0, 1};
        if (part == 0 && f->rows) NAME(choose)(f, s.given, d.rows, some, 0);
        REAL *to = f->canon[1].weight ? s.maps + part * n * channels : d.parts[part];
        NAME(through)(f->maps + part, run, part == 0 && f->rows ? d.rows : s.given, start, to, part ? n : m, d.panel);
        const layer canon = NAME(part_of)(f->canon[1], part);
        if (f->canon[1].weight) NAME(canon)(&canon, run, to, d.parts[part], some, f->keys);
    }
    NAME(vector) *room = (NAME(vector) *)s.lanes;
    for (int64_t first = 0; first < some; first += LANES) {
        REAL *given[3];
        NAME(lanes) lanes;
        room = NAME(divide)(f, room, &lanes);
        for (int64_t part = 0; part < 3; part++)
            given[part] = d.parts[part] + first * (part ? f->keys : f->queries) * channels;
        NAME(attend)(f, run, given, s.z + first * f->queries * channels, lanes, tables, (NAME(vector) *)d.lanes,
                     some - first < LANES ? some - first : LANES);
    }
    if (f->rows) NAME(choose)(f, s.x, d.rows, some, 0), residual = d.rows;
    for (int64_t i = 0; i < m; i++)
        for (int64_t c = 0; c < width; c++) s.sum[i * width + c] = residual[i * width + c] + bias[c];
    NAME(through)(&f->out, run, s.z, MATRIX(s.sum, width), s.sum, m, d.panel);
    NAME(norm)(&f->middle, run, f->epsilon, s.sum, s.y, s.stats[1], m, width);
    if (f->canon[2].weight) NAME(canon)(f->canon + 2, run, s.y, s.inside, some, f->keys);
    NAME(through)(&f->up, run, s.inside, (THEIR(matrix)){(REAL *)f->up.bias + run * f->up.down, 0, 1}, s.h, m, d.panel);
    if (f->canon[3].weight) NAME(canon)(f->canon + 3, run, s.h, s.slope, some, f->keys);
    THEIR(activate)(&f->phi, 1, tables[0], s.slope, s.value, m * f->up.outputs);
    REAL *top = f->last.weight ? s.top : y;
    residual = f->last.weight ? s.y : s.sum, bias = (const REAL *)f->lower.bias + run * width;
    for (int64_t i = 0; i < m; i++)
        for (int64_t c = 0; c < width; c++) top[i * width + c] = residual[i * width + c] + bias[c];
    NAME(through)(&f->lower, run, s.value, MATRIX(top, width), top, m, d.panel);
    if (f->last.weight) NAME(norm)(&f->last, run, f->epsilon, top, y, s.stats[2], m, width);
}

/* d.g: of what the block gives; becomes that of what it received. */
static void NAME(block_backward)(const block *f, int64_t run, NAME(saved) s, NAME(desk) *d, REAL *const *turned,
                                 NAME(vector) *biases, int64_t some) {
    const int64_t n = some * f->keys, m = some * f->queries, width = f->out.outputs, channels = f->out.inputs;
    const THEIR(matrix) zero = {d->zeros, 0, 1};
    REAL *g = d->g, *one = d->one, *two = d->two;
    if (f->last.weight) NAME(norm_backward)(&f->last, run, g, s.top, s.stats[2], NULL, m, width);
    NAME(back)(&f->lower, run, g, s.value, turned[5], zero, d->hidden, m, d->panel);
    for (int64_t i = 0; i < m * f->up.outputs; i++) d->hidden[i] *= s.slope[i];
    if (f->canon[3].weight) NAME(canon_backward)(f->canon + 3, run, d->hidden, s.h, some, f->keys);
    NAME(back)(&f->up, run, d->hidden, s.inside, turned[4], zero, one, m, d->panel);
    if (f->canon[2].weight) NAME(canon_backward)(f->canon + 2, run, one, s.y, some, f->keys);
    for (int64_t i = 0; f->last.weight && i < m * width; i++) one[i] += g[i];
    NAME(norm_backward)(&f->middle, run, one, s.sum, s.stats[1], f->last.weight ? NULL : g, m, width);
    NAME(back)(&f->out, run, one, s.z, turned[3], zero, d->z, m, d->panel);
    NAME(vector) *room = (NAME(vector) *)s.lanes;
    for (int64_t first = 0; first < some; first += LANES) {
        REAL *to[3];
        NAME(lanes) lanes;
        room = NAME(divide)(f, room, &lanes);
        for (int64_t part = 0; part < 3; part++)
            to[part] = d->parts[part] + first * (part ? f->keys : f->queries) * channels;
        NAME(attend_backward)(f, run, d->z + first * f->queries * channels, lanes, to, biases, (NAME(vector) *)d->lanes,
                              some - first < LANES ? some - first : LANES);
    }
    for (int64_t part = 2; part >= 0; part--) {
        const layer canon = NAME(part_of)(f->canon[1], part);
        if (f->canon[1].weight) NAME(canon_backward)(&canon, run, d->parts[part], s.maps + part * n * channels, some, f->keys);
        const int few = part == 0 && f->rows;
        if (few) NAME(choose)(f, s.given, d->rows, some, 0);
        NAME(back)(f->maps + part, run, d->parts[part], few ? d->rows : s.given, turned[part],
                   part == 2 || few ? zero : MATRIX(two, width), few ? g : two, few ? m : n, d->panel);
        if (few) NAME(choose)(f, two, g, some, 1);
    }
    if (f->canon[0].weight) NAME(canon_backward)(f->canon, run, two, s.normal, some, f->keys);
    if (f->rows) { /* the residual: zero where nothing was wanted */
        memset(g, 0, sizeof(REAL) * (size_t)(n * width));
        NAME(choose)(f, g, one, some, 1);
        one = g;
    }
    if (f->first.weight) NAME(norm_backward)(&f->first, run, two, s.x, s.stats[0], one, n, width);
    else
        for (int64_t i = 0; i < n * width; i++) two[i] += one[i];
    d->two = d->g, d->g = two;
}

/* Numbers that a run keeps for its gradients. */
int64_t NAME(room)(const stack *s) {
    const int64_t chunk = NAME(chunk)(s);
    NAME(saved) saved;
    REAL *room = NULL;
    for (int64_t first = 0; first < s->batch; first += chunk)
        for (int64_t b = 0; b < s->blocks; b++)
            room = NAME(share)(s->block + b, room, s->batch - first < chunk ? s->batch - first : chunk, &saved);
    return room - (REAL *)NULL;
}

static int NAME(tabulate)(const stack *s, int64_t run, REAL **tables) {
    const function *functions[] = {&s->block->phi, &s->block->value, &s->block->kernel};
    for (int i = 0; i < 3; i++) {
        free(tables[i]);
        tables[i] = NAME(table)(functions[i], run);
    }
    return !tables[0] || !tables[1] || !tables[2];
}

/* y (runs, batch, queries, width) of x (runs, batch, tokens, width), for runs first … end - 1. 1: no memory. */
int NAME(forward)(const stack *s, REAL *x, REAL *y, REAL *all, int64_t first_run, int64_t end) {
    const block *last = s->block + s->blocks - 1;
    const int64_t chunk = NAME(chunk)(s), width = last->out.outputs, size = NAME(room)(s);
    NAME(desk) d;
    REAL *tables[3] = {0};
    int failed = NAME(furnish)(s, &d);
    for (int64_t run = first_run; !failed && run < end; run++) {
        REAL *room = all + run * size;
        if ((failed = NAME(tabulate)(s, run, tables))) break;
        for (int64_t first = 0; first < s->batch; first += chunk) {
            const int64_t some = s->batch - first < chunk ? s->batch - first : chunk, at = run * s->batch + first;
            NAME(saved) saved, next;
            room = NAME(share)(s->block, room, some, &saved);
            memcpy(saved.x, x + at * last->keys * width, sizeof(REAL) * (size_t)(some * last->keys * width));
            for (int64_t b = 0; b < s->blocks; b++, saved = next) {
                if (b < s->blocks - 1) room = NAME(share)(s->block + b + 1, room, some, &next);
                NAME(block_forward)(s->block + b, run, saved, b < s->blocks - 1 ? next.x : y + at * last->queries * width, d,
                                    tables, some);
            }
        }
    }
    for (int i = 0; i < 3; i++) free(tables[i]);
    free(d.all), free(d.turned);
    return failed;
}

static void NAME(turn)(const stack *s, int64_t run, NAME(desk) d) {
    for (int64_t b = 0; b < s->blocks; b++) {
        const block *f = s->block + b;
        const layer *layers[] = {f->maps, f->maps + 1, f->maps + 2, &f->out, &f->up, &f->lower};
        for (int64_t l = 0; l < 6; l++)
            THEIR(transpose)(NAME(of_run)(layers[l]->weight, layers[l], run), layers[l]->down, d.turned[6 * b + l],
                             layers[l]->inputs, layers[l]->inputs, layers[l]->outputs);
        if (f->of_relative) memset(d.biases[b], 0, sizeof(NAME(vector)) * (size_t)(f->heads * f->buckets));
    }
}

/* of_x; and adds to the gradients of the blocks' weights. */
int NAME(backward)(const stack *s, const REAL *of_y, REAL *of_x, REAL *all, int64_t first_run, int64_t end) {
    const block *last = s->block + s->blocks - 1;
    const int64_t chunk = NAME(chunk)(s), width = last->out.outputs, size = NAME(room)(s);
    NAME(desk) d;
    const int failed = NAME(furnish)(s, &d);
    for (int64_t run = first_run; !failed && run < end; run++) {
        REAL *room = all + run * size;
        NAME(turn)(s, run, d);
        for (int64_t first = 0; first < s->batch; first += chunk) {
            const int64_t some = s->batch - first < chunk ? s->batch - first : chunk, at = run * s->batch + first;
            NAME(saved) saved[s->blocks];
            for (int64_t b = 0; b < s->blocks; b++) room = NAME(share)(s->block + b, room, some, saved + b);
            memcpy(d.g, of_y + at * last->queries * width, sizeof(REAL) * (size_t)(some * last->queries * width));
            for (int64_t b = s->blocks - 1; b >= 0; b--)
                NAME(block_backward)(s->block + b, run, saved[b], &d, d.turned + 6 * b, d.biases[b], some);
            memcpy(of_x + at * last->keys * width, d.g, sizeof(REAL) * (size_t)(some * last->keys * width));
        }
        for (int64_t b = 0; b < s->blocks; b++) {
            const int64_t count = s->block[b].heads * s->block[b].buckets;
            for (int64_t i = 0; s->block[b].of_relative && i < count; i++)
                ((REAL *)s->block[b].of_relative)[run * count + i] = NAME(total)(d.biases[b][i]);
        }
    }
    free(d.all), free(d.turned);
    return failed;
}

#include "tokens.h"
#undef TAKE
#undef AT
#undef MATRIX
#undef TURNED
#undef LANES
#undef NAME
#undef THEIR
#undef REAL
#undef ROOT
