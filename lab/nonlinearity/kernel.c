/* Linear spline with evenly spaced knots: constant outside [low, high], right-hand slope on a knot, NaN stays NaN.
   One pass over memory each way; the backward pass recomputes the interval instead of reading it back.
   Layout: x, y, g are (runs, count), contiguous; the knots are (runs, knots) or, with stride 0, shared by all runs. */
#include <stdint.h>
#if defined(__AVX512F__)
#include <immintrin.h>
#endif

static inline int interval(float position, int last) {
    int k = (int)position;                   /* NaN becomes INT_MIN: the clamp keeps the look-up inside the table */
    return k < 0 ? 0 : (k > last - 1 ? last - 1 : k);
}

void spline_forward(const float *x, const float *knots, float *y, int64_t runs, int64_t count, int64_t stride,
                    int n, float low, float inverse) {
    const int last = n - 1;
    for (int64_t r = 0; r < runs; r++) {
        const float *v = knots + r * stride, *in = x + r * count;
        float *out = y + r * count;
        int64_t i = 0;
#if defined(__AVX512F__)
        const __m512 lo = _mm512_set1_ps(low), inv = _mm512_set1_ps(inverse), top = _mm512_set1_ps((float)last);
        const __m512i cap = _mm512_set1_epi32(last - 1);
        for (; i + 16 <= count; i += 16) {
            __m512 t = _mm512_mul_ps(_mm512_sub_ps(_mm512_loadu_ps(in + i), lo), inv);
            t = _mm512_min_ps(top, _mm512_max_ps(_mm512_setzero_ps(), t));  /* the second operand, NaN, is kept */
            __m512i k = _mm512_min_epi32(cap, _mm512_max_epi32(_mm512_setzero_si512(), _mm512_cvttps_epi32(t)));
            __m512 f = _mm512_sub_ps(t, _mm512_cvtepi32_ps(k));
            __m512 a = _mm512_i32gather_ps(k, v, 4), b = _mm512_i32gather_ps(k, v + 1, 4);
            _mm512_storeu_ps(out + i, _mm512_fmadd_ps(f, _mm512_sub_ps(b, a), a));
        }
#endif
        for (; i < count; i++) {
            float t = (in[i] - low) * inverse;
            t = t < 0.0f ? 0.0f : (t > (float)last ? (float)last : t);
            int k = interval(t, last);
            out[i] = v[k] + (t - (float)k) * (v[k + 1] - v[k]);
        }
    }
}

void spline_backward_input(const float *x, const float *g, const float *knots, float *gx, int64_t runs, int64_t count,
                           int64_t stride, int n, float low, float inverse) {
    const int last = n - 1;
    for (int64_t r = 0; r < runs; r++) {
        const float *v = knots + r * stride, *in = x + r * count, *gr = g + r * count;
        float *out = gx + r * count;
        int64_t i = 0;
#if defined(__AVX512F__)
        const __m512 lo = _mm512_set1_ps(low), inv = _mm512_set1_ps(inverse), top = _mm512_set1_ps((float)last);
        for (; i + 16 <= count; i += 16) {
            __m512 t = _mm512_mul_ps(_mm512_sub_ps(_mm512_loadu_ps(in + i), lo), inv);
            __mmask16 inside = _mm512_cmp_ps_mask(t, _mm512_setzero_ps(), _CMP_GE_OQ)
                             & _mm512_cmp_ps_mask(t, top, _CMP_LT_OQ);
            __mmask16 nan = _mm512_cmp_ps_mask(t, t, _CMP_UNORD_Q);
            __m512i k = _mm512_maskz_cvttps_epi32(inside, t);
            __m512 a = _mm512_i32gather_ps(k, v, 4), b = _mm512_i32gather_ps(k, v + 1, 4);
            __m512 slope = _mm512_mul_ps(_mm512_sub_ps(b, a), inv);
            __m512 d = _mm512_maskz_mul_ps(inside, slope, _mm512_loadu_ps(gr + i));
            _mm512_storeu_ps(out + i, _mm512_mask_mov_ps(d, nan, t));
        }
#endif
        for (; i < count; i++) {
            float t = (in[i] - low) * inverse;
            if (t >= 0.0f && t < (float)last) {
                int k = interval(t, last);
                out[i] = gr[i] * (v[k + 1] - v[k]) * inverse;
            } else {
                out[i] = t != t ? t : 0.0f;
            }
        }
    }
}

/* Sums in double, so that a million terms cost no digits. gv is (runs, n) doubles, zeroed by the caller. */
void spline_backward_knots(const float *x, const float *g, double *gv, int64_t runs, int64_t count, int n, float low,
                           float inverse) {
    const int last = n - 1;
    for (int64_t r = 0; r < runs; r++) {
        const float *in = x + r * count, *gr = g + r * count;
        double *sum = gv + r * n;
        for (int64_t i = 0; i < count; i++) {
            float t = (in[i] - low) * inverse;
            t = t < 0.0f ? 0.0f : (t > (float)last ? (float)last : t);
            int k = interval(t, last);
            double f = (double)t - k, d = gr[i];
            sum[k] += d * (1.0 - f);
            sum[k + 1] += d * f;
        }
    }
}
