#pragma once
// Decimal numbers in plain text, read where they stand: without a Python text in between.
#include <Python.h>
#include <cmath>
#include <cstdint>

static inline bool mbt_is_digit(char c) { return c >= '0' && c <= '9'; }

// Read the number that begins at `p`; return what follows it, or null where none does, or none that is finite.
// `end` is behind the text, which goes on with a character of no number.
static inline const char* mbt_read_number(const char* p, const char* end, double* number) {
    // Powers of ten that a double holds exactly.
    static const double powers[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
                                    1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
    const char* start = p;
    const bool is_negative = *p == '-';
    if (*p == '-' || *p == '+') p++;
    std::uint64_t digits = 0;  // as an integer, which may overflow
    int count = 0, places = 0, exponent = 0;
    for (; p < end && mbt_is_digit(*p); p++, count++) digits = 10 * digits + static_cast<unsigned>(*p - '0');
    if (p < end && *p == '.')
        for (p++; p < end && mbt_is_digit(*p); p++, count++, places++)
            digits = 10 * digits + static_cast<unsigned>(*p - '0');
    if (count == 0) return nullptr;
    if (p < end && (*p == 'e' || *p == 'E')) {
        p++;
        const bool is_small = p < end && *p == '-';
        if (p < end && (*p == '-' || *p == '+')) p++;
        if (p == end || !mbt_is_digit(*p)) return nullptr;
        for (; p < end && mbt_is_digit(*p); p++)
            if (exponent < 10000) exponent = 10 * exponent + (*p - '0');
        if (is_small) exponent = -exponent;
    }
    if (p < end && *p != ' ') return nullptr;
    exponent -= places;
    if (count <= 19 && digits <= std::uint64_t{1} << 53 && exponent >= -22 && exponent <= 22) {
        // Both are exact, so the one rounding is that of the number (Clinger 1990).
        const double x = static_cast<double>(digits);
        const double magnitude = exponent < 0 ? x / powers[-exponent] : x * powers[exponent];
        *number = is_negative ? -magnitude : magnitude;
        return p;
    }
    char* behind;
    *number = PyOS_string_to_double(start, &behind, nullptr);
    if (behind == p && std::isfinite(*number)) return p;
    PyErr_Clear();
    return nullptr;
}

// Read so many numbers and nothing else, separated by blanks; return whether that is what there is.
static inline bool mbt_read_numbers(const char* p, int size, int count, double* numbers) {
    const char* end = p + size;
    for (int i = 0; i < count; i++) {
        while (p < end && *p == ' ') p++;
        if (p == end) return false;
        p = mbt_read_number(p, end, numbers + i);
        if (p == nullptr) return false;
    }
    while (p < end && *p == ' ') p++;
    return p == end;
}
