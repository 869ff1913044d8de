"""Let only one thread at a time use the contents of an object, also without the GIL."""


cdef extern from "engines/section.hpp" namespace "MBT_NS":
    cdef cppclass Section:
        void enter(object) noexcept
    void publish() noexcept nogil
