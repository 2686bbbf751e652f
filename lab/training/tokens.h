/* Embedding of tokens, and the loss of predicted ones, for one type of numbers; blocks.h includes this once a type. */

/* x (runs, batch, tokens, width): rows of a table (runs, known, width), and of places (runs, longest, width), or NULL. */
void NAME(embed)(const REAL *table, const REAL *places, const int64_t *index, REAL *x, int64_t runs, int64_t batch,
                 int64_t tokens, int64_t width, int64_t known, int64_t longest) {
    for (int64_t row = 0; row < runs * batch * tokens; row++, x += width) {
        const int64_t run = row / (batch * tokens);
        const REAL *from = table + (run * known + index[row]) * width;
        const REAL *place = places ? places + (run * longest + row % tokens) * width : NULL;
        for (int64_t c = 0; c < width; c++) x[c] = from[c] + (place ? place[c] : 0);
    }
}

void NAME(embed_backward)(REAL *table, REAL *places, const int64_t *index, const REAL *g, int64_t runs, int64_t batch,
                          int64_t tokens, int64_t width, int64_t known, int64_t longest) {
    for (int64_t row = 0; row < runs * batch * tokens; row++, g += width) {
        const int64_t run = row / (batch * tokens);
        REAL *to = table + (run * known + index[row]) * width;
        REAL *place = places ? places + (run * longest + row % tokens) * width : NULL;
        for (int64_t c = 0; c < width; c++) to[c] += g[c];
        for (int64_t c = 0; place && c < width; c++) place[c] += g[c];
    }
}

/* losses (runs,) of `count` tokens of each sequence: mean cross-entropy, weighted, of classes that are predicted at
   positions of x (runs, batch, tokens, inputs). Adds to of_x and to the gradient of the map, which is the transposed one
   of a tied table. 1: no memory. */
int NAME(head)(const layer *l, int64_t tied, const REAL *x, const int64_t *positions, const int64_t *targets,
               const REAL *weights, REAL *losses, REAL *of_x, int64_t runs, int64_t batch, int64_t tokens, int64_t count) {
    const int64_t width = l->inputs, classes = l->outputs, size = width * classes, most = 96;
    const int64_t longest = most > classes ? (most > width ? most : width) : classes > width ? classes : width;
    const int64_t numbers = size + most * (2 * width + classes) + longest * (2 * LANES + 1) + LANES;
    REAL *room = aligned_alloc(64, (sizeof(REAL) * (size_t)numbers + 63) / 64 * 64);
    if (!room) return 1;
    REAL *turned = room, *rows = turned + size, *back = rows + most * width, *logits = back + most * width;
    REAL *zeros = logits + most * classes, *panel = zeros + longest + LANES;
    memset(zeros, 0, sizeof(REAL) * (size_t)(longest + LANES));
    const int64_t all_rows = batch * count, down = tied ? width : classes, along = tied ? classes : width;
    for (int64_t run = 0; run < runs; run++, weights += all_rows, positions += all_rows, targets += all_rows) {
        REAL *given = (REAL *)l->weight + run * size, *sum = (REAL *)l->of_weight + run * size;
        double all = 0, loss = 0;
        for (int64_t i = 0; i < all_rows; i++) all += (double)weights[i];
        THEIR(transpose)(given, down, turned, along, along, down);
        const THEIR(matrix) forth = MATRIX(tied ? turned : given, classes), home = MATRIX(tied ? given : turned, width);
        for (int64_t first = 0; first < all_rows; first += most) {
            const int64_t some = all_rows - first < most ? all_rows - first : most;
            for (int64_t i = 0; i < some; i++) {
                const int64_t at = (run * batch + (first + i) / count) * tokens + positions[first + i];
                memcpy(rows + i * width, x + at * width, sizeof(REAL) * (size_t)width);
            }
            THEIR(product)(MATRIX(rows, width), forth, MATRIX(zeros, 0), MATRIX(logits, classes), some, width, classes, panel);
            for (int64_t i = 0; i < some; i++)
                THEIR(loss_backward)(CROSS_ENTROPY, targets, first + i, logits + i * classes, 1, classes,
                                     (double)weights[first + i] / all, &loss);
            const THEIR(matrix) change = MATRIX(sum, down);
            if (tied)
                THEIR(product)(TURNED(logits, classes), MATRIX(rows, width), change, change, classes, some, width, panel);
            else
                THEIR(product)(TURNED(rows, width), MATRIX(logits, classes), change, change, width, some, classes, panel);
            THEIR(product)(MATRIX(logits, classes), home, MATRIX(zeros, 0), MATRIX(back, width), some, classes, width, panel);
            for (int64_t i = 0; i < some; i++) {
                REAL *to = of_x + ((run * batch + (first + i) / count) * tokens + positions[first + i]) * width;
                for (int64_t c = 0; c < width; c++) to[c] += back[i * width + c];
            }
        }
        losses[run] = (REAL)loss;
    }
    free(room);
    return 0;
}
