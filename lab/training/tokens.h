/* Steps of models that read tokens and predict some of them, for one type of numbers; blocks.h includes this once a type. */

/* The loss of some sequences, from what the blocks give (`x`); adds to the gradient of the last map, and of x to d.g. */
static double NAME(head_backward)(const ends *e, int64_t run, int64_t first, const REAL *x, double all, NAME(desk) d,
                                  int64_t some, int64_t batch, int64_t tokens) {
    const int tied = e->head.weight == NULL;
    const layer *l = tied ? &e->table : &e->head;
    const int64_t width = e->table.outputs, classes = tied ? l->inputs : l->outputs, rows = some * e->count;
    const int64_t at = (run * batch + first) * e->count;
    const REAL *weights = (const REAL *)e->weights + at;
    REAL *given = NAME(of_run)(l->weight, l, run);
    const THEIR(matrix) sum = MATRIX(NAME(of_run)(l->of_weight, l, run), l->down), zero = MATRIX(d.zeros, 0);
    double loss = 0;
    for (int64_t i = 0; i < rows; i++)
        memcpy(d.rows + i * width, x + (i / e->count * tokens + e->positions[at + i]) * width, sizeof(REAL) * (size_t)width);
    THEIR(product)(MATRIX(d.rows, width), MATRIX(tied ? d.head : given, classes), zero, MATRIX(d.logits, classes), rows,
                   width, classes, d.panel);
    for (int64_t i = 0; i < rows; i++)
        THEIR(loss_backward)(CROSS_ENTROPY, e->targets + at, i, d.logits + i * classes, 1, classes, (double)weights[i] / all,
                             &loss);
    if (tied)
        THEIR(product)(TURNED(d.logits, classes), MATRIX(d.rows, width), sum, sum, classes, rows, width, d.panel);
    else
        THEIR(product)(TURNED(d.rows, width), MATRIX(d.logits, classes), sum, sum, width, rows, classes, d.panel);
    THEIR(product)(MATRIX(d.logits, classes), MATRIX(tied ? given : d.head, width), zero, MATRIX(d.one, width), rows, classes,
                   width, d.panel);
    for (int64_t i = 0; i < rows; i++)
        for (int64_t c = 0; c < width; c++)
            d.g[(i / e->count * tokens + e->positions[at + i]) * width + c] += d.one[i * width + c];
    return loss;
}

/* Losses and, added to, all gradients, of runs first … end - 1. all_rooms: of a chunk for each run. 1: no memory. */
int NAME(step)(const stack *s, const ends *e, REAL *all_rooms, int64_t first_run, int64_t end) {
    const int64_t chunk = NAME(chunk)(s), width = e->table.outputs, tokens = s->block->keys, length = s->batch * e->count;
    const layer *last = e->head.weight ? &e->head : &e->table;
    NAME(saved) saved[s->blocks];
    NAME(desk) d;
    REAL *tables[3] = {0};
    int failed = NAME(furnish)(s, &d);
    for (int64_t run = first_run; !failed && run < end; run++) {
        REAL *room = all_rooms + run * NAME(room)(s);
        if ((failed = NAME(tabulate)(s, run, tables))) break;
        for (int64_t b = 0; b < s->blocks; b++) room = NAME(share)(s->block + b, room, chunk < s->batch ? chunk : s->batch, saved + b);
        NAME(turn)(s, run, d);
        THEIR(transpose)(NAME(of_run)(last->weight, last, run), last->down, d.head, last->inputs, last->inputs, last->down);
        const int64_t *index = e->tokens + run * s->batch * tokens;
        double all = 0, loss = 0;
        for (int64_t i = 0; i < length; i++) all += (double)((const REAL *)e->weights)[run * length + i];
        for (int64_t first = 0; first < s->batch; first += chunk) {
            const int64_t some = s->batch - first < chunk ? s->batch - first : chunk, rows = some * tokens;
            for (int64_t i = 0; i < rows; i++) {
                const REAL *from = NAME(of_run)(e->table.weight, &e->table, run) + index[first * tokens + i] * width;
                const REAL *place = NAME(of_run)(e->places.weight, &e->places, run) + i % tokens * width;
                for (int64_t c = 0; c < width; c++) saved->x[i * width + c] = from[c] + (e->places.weight ? place[c] : 0);
            }
            for (int64_t b = 0; b < s->blocks; b++)
                NAME(block_forward)(s->block + b, run, saved[b], b < s->blocks - 1 ? saved[b + 1].x : d.two, d, tables, some);
            memset(d.g, 0, sizeof(REAL) * (size_t)(rows * width));
            loss += NAME(head_backward)(e, run, first, d.two, all, d, some, s->batch, tokens);
            for (int64_t b = s->blocks - 1; b >= 0; b--)
                NAME(block_backward)(s->block + b, run, saved[b], &d, d.turned + 6 * b, d.biases[b], some);
            for (int64_t i = 0; i < rows; i++) {
                REAL *to = NAME(of_run)(e->table.of_weight, &e->table, run) + index[first * tokens + i] * width;
                REAL *place = NAME(of_run)(e->places.of_weight, &e->places, run) + i % tokens * width;
                for (int64_t c = 0; c < width; c++) to[c] += d.g[i * width + c];
                for (int64_t c = 0; e->places.weight && c < width; c++) place[c] += d.g[i * width + c];
            }
        }
        ((REAL *)e->losses)[run] = (REAL)loss;
    }
    for (int i = 0; i < 3; i++) free(tables[i]);
    free(d.all), free(d.turned);
    return failed;
}
