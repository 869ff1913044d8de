"""One thread at a time in what an object holds, also without the GIL."""


cdef extern from "engines/section.hpp" namespace "MBT_NS":
    cdef cppclass Section:
        void enter(object) noexcept
    void publish() noexcept nogil
