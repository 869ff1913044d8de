// What one core of this machine can do at most: called by machine.py, compiled with vectors of WIDTH doubles.
#include <immintrin.h>
#include <stdint.h>

typedef double vector __attribute__((vector_size(8 * WIDTH), aligned(8 * WIDTH)));

#if WIDTH == 8
#define STREAM(place, x) _mm512_stream_pd((void *)(place), (__m512d)(x))
#else
#define STREAM(place, x) _mm256_stream_pd((place), (__m256d)(x))
#endif

// Keeps a value in a register: the compiler may not think about what it is.
#define KEEP(x) __asm__ volatile("" : "+v"(x))

#define ADD_PRODUCT(s) __asm__ volatile("vfmadd231pd %1, %2, %0" : "+v"(s) : "v"(a), "v"(b))

// Sums of products, `turns` times 12 vectors, which do not wait for each other. Returns operations.
double multiply_and_add(int64_t turns) {
  vector a = {0}, b = a, s0 = a, s1 = a, s2 = a, s3 = a, s4 = a, s5 = a, s6 = a, s7 = a, s8 = a, s9 = a, s10 = a, s11 = a;
  for (int64_t t = 0; t < turns; t++) {
    ADD_PRODUCT(s0);
    ADD_PRODUCT(s1);
    ADD_PRODUCT(s2);
    ADD_PRODUCT(s3);
    ADD_PRODUCT(s4);
    ADD_PRODUCT(s5);
    ADD_PRODUCT(s6);
    ADD_PRODUCT(s7);
    ADD_PRODUCT(s8);
    ADD_PRODUCT(s9);
    ADD_PRODUCT(s10);
    ADD_PRODUCT(s11);
  }
  return 2.0 * 12 * WIDTH * (double)turns;
}

// Reads all of a memory, again and again. Returns bytes.
double load(const double *memory, int64_t count, int64_t turns) {
  vector x;
  for (int64_t t = 0; t < turns; t++)
    for (int64_t i = 0; i + 8 * WIDTH <= count; i += 8 * WIDTH)
      for (int k = 0; k < 8; k++) {
        x = *(const vector *)(memory + i + k * WIDTH);
        KEEP(x);
      }
  return 8.0 * (double)(count / (8 * WIDTH) * (8 * WIDTH)) * (double)turns;
}

// A plain fill. Returns bytes.
double store(double *memory, int64_t count, int64_t turns) {
  vector x = {0};
  for (int64_t t = 0; t < turns; t++)
    for (int64_t i = 0; i + 8 * WIDTH <= count; i += 8 * WIDTH)
      for (int k = 0; k < 8; k++) {
        KEEP(x);
        *(volatile vector *)(memory + i + k * WIDTH) = x;
      }
  return 8.0 * (double)(count / (8 * WIDTH) * (8 * WIDTH)) * (double)turns;
}

// The same past the caches. Returns bytes.
double store_past_caches(double *memory, int64_t count, int64_t turns) {
  vector x = {0};
  for (int64_t t = 0; t < turns; t++) {
    for (int64_t i = 0; i + 8 * WIDTH <= count; i += 8 * WIDTH)
      for (int k = 0; k < 8; k++) {
        KEEP(x);
        STREAM(memory + i + k * WIDTH, x);
      }
    __asm__ volatile("sfence" ::: "memory");
  }
  return 8.0 * (double)(count / (8 * WIDTH) * (8 * WIDTH)) * (double)turns;
}
