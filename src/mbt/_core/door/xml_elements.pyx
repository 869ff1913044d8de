"""Elements of XML: what a reader takes of them, and what it left.

Those of plain text keep their attributes as they are written there. A number is then read where it stands, without a
Python text of it in between; where that fails, the reader takes the text and says what is wrong.
"""

from cpython.dict cimport PyDict_SetDefault
from cpython.mem cimport PyMem_Free, PyMem_Realloc
from cpython.unicode cimport PyUnicode_DecodeASCII
from libc.string cimport memcmp

cdef extern from "Python.h":
    const char* PyUnicode_AsUTF8AndSize(object text, Py_ssize_t* size) except NULL

cdef extern from "door/plain_numbers.hpp":
    bint read_numbers "mbt_read_numbers"(const char* p, int size, int count, double* numbers)


cdef enum:
    MAX_NUMBERS = 8


cdef class WrittenAttributes:
    """The attributes of all elements of a plain document."""

    def __cinit__(self, bytes data not None):
        self.data = data
        self.text = data

    def __dealloc__(self):
        PyMem_Free(self.attributes)

    cdef int append(self, Attribute attribute) except -1:
        cdef Attribute* more
        cdef int room = 2*self._room + 64
        if self.count == self._room:
            more = <Attribute*>PyMem_Realloc(self.attributes, room*sizeof(Attribute))
            if more == NULL:
                raise MemoryError
            self.attributes = more
            self._room = room
        self.attributes[self.count] = attribute
        self.count += 1
        return 0


cdef class XmlElement:
    """What an element of a document holds."""

    def __init__(self, str tag, dict attributes, int line, document):
        self.tag = tag
        self._attributes = attributes
        self.line = line
        self.document = document
        # Most elements have none.
        self.children = ()

    @property
    def attributes(self):
        """What was not taken of the attributes, to be changed in place."""
        cdef const Attribute* attribute
        cdef int i
        if self._attributes is None:
            self._attributes = {}
            for i in range(self.count):
                if not self._taken >> i & 1:
                    attribute = self.written.attributes + self.first + i
                    name = PyUnicode_DecodeASCII(self.written.text + attribute.name, attribute.name_size, NULL)
                    self._attributes[name] = self.text_of(i)
            self.written, self.count = None, 0
        return self._attributes

    @attributes.setter
    def attributes(self, dict attributes not None):
        self._attributes = attributes
        self.written, self.count = None, 0

    cdef int find(self, str name) except -2:
        """Return which of the written attributes has a name and was not taken, or -1."""
        cdef Py_ssize_t size
        cdef const char* start = PyUnicode_AsUTF8AndSize(name, &size)
        cdef const Attribute* attribute
        cdef int i
        for i in range(self.count):
            attribute = self.written.attributes + self.first + i
            if attribute.name_size == size and memcmp(self.written.text + attribute.name, start, size) == 0:
                return -1 if self._taken >> i & 1 else i
        return -1

    cdef str text_of(self, int i):
        cdef const Attribute* attribute = self.written.attributes + self.first + i
        return PyUnicode_DecodeASCII(self.written.text + attribute.value, attribute.value_size, NULL)

    cdef bint read_numbers(self, int i, int count, double* numbers):
        """Read the numbers of a written attribute; return whether it holds so many and nothing else."""
        cdef const Attribute* attribute
        if i < 0:
            return False
        attribute = self.written.attributes + self.first + i
        return read_numbers(self.written.text + attribute.value, attribute.value_size, count, numbers)

    cdef int mark_taken(self, int i) noexcept:
        self._taken |= 1ULL << i
        return 0

    cdef bint has_attributes(self):
        """Return whether any attribute was not taken, the name aside."""
        cdef const Attribute* attribute
        cdef int i
        if self._attributes is not None:
            return len(self._attributes) > 1 or self._attributes and "name" not in self._attributes
        for i in range(self.count):
            attribute = self.written.attributes + self.first + i
            if not self._taken >> i & 1 and not (
                attribute.name_size == 4 and memcmp(self.written.text + attribute.name, b"name", 4) == 0
            ):
                return True
        return False

    def peek(self, str name not None):
        """Return an attribute, or None, and let it stand."""
        cdef int i
        if self._attributes is not None:
            return self._attributes.get(name)
        i = self.find(name)
        return None if i < 0 else self.text_of(i)

    def take(self, str name not None):
        """Remove an attribute and return it, or None."""
        cdef int i
        if self._attributes is not None:
            return self._attributes.pop(name, None)
        i = self.find(name)
        if i < 0:
            return None
        self.mark_taken(i)
        return self.text_of(i)

    def require_name(self, str attribute not None="name"):
        """Return a name that must be there and not be empty. It stays where it is: messages show it."""
        cdef str name = self.peek(attribute)
        if name is None:
            raise self.missing(attribute)
        if not name or name.isspace():
            raise self.error(f"the attribute {attribute!r} is empty: a name is expected")
        if attribute != "name":
            self.take(attribute)
        return name

    def take_plain_number(self, str name not None):
        """Remove an attribute that is a number in plain text and return it; None, and nothing taken, otherwise."""
        cdef double number
        cdef int i = -1 if self._attributes is not None else self.find(name)
        if not self.read_numbers(i, 1, &number):
            return None
        self.mark_taken(i)
        return number

    def take_plain_numbers(self, str name not None, int count):
        """Remove an attribute that is so many numbers in plain text and return them, or None; at most 8."""
        cdef double[MAX_NUMBERS] numbers
        cdef int k, i = -1 if self._attributes is not None or not 0 <= count <= MAX_NUMBERS else self.find(name)
        if not self.read_numbers(i, count, numbers):
            return None
        self.mark_taken(i)
        return [numbers[k] for k in range(count)]

    def take_each_plain_number(self, tuple names not None):
        """Remove a number of each of these attributes and return them; None, and nothing taken, where one fails."""
        cdef double[MAX_NUMBERS] numbers
        cdef unsigned long long taken = 0
        cdef int k = 0, i
        if self._attributes is not None or len(names) > MAX_NUMBERS:
            return None
        for name in names:
            i = self.find(name)
            if not self.read_numbers(i, 1, &numbers[k]):
                return None
            taken |= 1ULL << i
            k += 1
        self._taken |= taken
        return [numbers[k] for k in range(len(names))]

    def take_parts(self, frozenset tags not None):
        """Return the children with these tags, by tag. Of several with one tag the first counts."""
        cdef dict parts = {}
        cdef XmlElement child
        for child in self.children:
            if child.tag in tags:
                child.is_read = True
                if <object>PyDict_SetDefault(parts, child.tag, child) is not child:
                    self.dismiss_second(child)
        return parts

    def take_children(self, *tags):
        """Return the children with one of these tags, in document order."""
        cdef list found = []
        cdef XmlElement child
        for child in self.children:
            if child.tag in tags:
                child.is_read = True
                found.append(child)
        return found

    def take_first(self, str tag not None):
        """Return the child with this tag, or None. Of several the first counts."""
        cdef XmlElement child, first = None
        for child in self.children:
            if child.tag == tag:
                child.is_read = True
                if first is None:
                    first = child
                else:
                    self.dismiss_second(child)
        return first

    def has_unread(self):
        """Return whether anything below this element was not taken, names aside."""
        cdef XmlElement child
        for child in self.children:
            if not child.is_read or child.has_attributes():
                return True
            if child.children and child.has_unread():
                return True
        return False

    def unread(self):
        """Return what nobody took below this element, in order.

        Each is a path, as ``link/visual`` or ``joint/axis@rpy``, with the element concerned.
        """
        cdef list found = []
        self.find_unread("", found)
        return found

    cdef int find_unread(self, str folder, list found) except -1:
        # Nesting is bounded, so this may call itself.
        cdef XmlElement child
        for child in self.children:
            if not child.is_read:
                found.append((folder + child.tag, child))
                continue
            if child.has_attributes():
                for name in child.attributes:
                    if name != "name" and not name.startswith("xmlns"):
                        found.append((f"{folder}{child.tag}@{name}", child))
            if child.children and child.has_unread():
                child.find_unread(f"{folder}{child.tag}/", found)
        return 0
