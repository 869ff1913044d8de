"""Indices of Python objects, by identity."""


cdef extern from "door/identities.hpp" namespace "MBT_NS":
    cdef cppclass Identities:
        bint reserve(size_t count) noexcept
        bint is_empty() noexcept
        void take(Identities& other) noexcept
        void clear() noexcept
        void add(object, int number) noexcept
        int find(object) noexcept
