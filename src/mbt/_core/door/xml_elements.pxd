"""Elements of XML, and the attributes of those in plain text as they are written there."""

cdef enum:
    # One bit each says whether it was taken.
    MAX_ATTRIBUTES = 64


cdef struct Attribute:
    # Where name and value begin in the text, and how long they are.
    int name
    int name_size
    int value
    int value_size


cdef class WrittenAttributes:
    cdef readonly bytes data
    cdef const char* text
    cdef Attribute* attributes
    cdef int count
    cdef int _room
    cdef int append(self, Attribute attribute) except -1


cdef class XmlElement:
    cdef readonly str tag
    cdef readonly int line
    cdef public bint is_read
    cdef readonly object document
    cdef public object children
    cdef public list text_parts
    # Its attributes are those of `written` that were not taken, until somebody asks for a dictionary of them.
    cdef dict _attributes
    cdef WrittenAttributes written
    cdef int first
    cdef int count
    cdef unsigned long long _taken
    cdef int find(self, str name) except -2
    cdef str text_of(self, int i)
    cdef int mark_taken(self, int i) noexcept
    cdef bint read_numbers(self, int i, int count, double* numbers)
    cdef bint has_attributes(self)
    cdef int find_unread(self, str folder, list found) except -1
