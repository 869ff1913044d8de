"""Plain XML to elements, six times as fast as through the callbacks of expat. Whatever is not plain is left to expat.

Plain is a document in ASCII of elements, attributes, blanks and comments alone. What is accepted here, expat accepts,
and finds the same in it; on anything else, faults included, `parse_plain_xml` gives up and says nothing.
"""

from cpython.dict cimport PyDict_SetDefault
from cpython.object cimport PyObject, PyTypeObject
from cpython.unicode cimport PyUnicode_DecodeASCII
from libc.string cimport memcmp

from mbt._core.door.xml_elements cimport MAX_ATTRIBUTES, Attribute, WrittenAttributes, XmlElement

cdef enum:
    MAX_DEPTH = 512
    # Places in the text are integers.
    MAX_SIZE = 1 << 30

cdef enum:
    BLANK = 1
    NAME_START = 2
    NAME = 4
    PLAIN = 8
    # Inside a value; what ends one is looked at apart.
    VALUE = 16

# What each byte may be.
cdef unsigned char[256] KINDS


cdef void fill_kinds() noexcept:
    cdef int c
    for c in range(256):
        KINDS[c] = PLAIN | VALUE if 0x20 <= c < 0x7f else 0
        if c == c"<" or c == c"&" or c == c'"' or c == c"'":
            KINDS[c] = PLAIN
        if c"a" <= c <= c"z" or c"A" <= c <= c"Z" or c == c"_" or c == c":":
            KINDS[c] |= NAME_START | NAME
        elif c"0" <= c <= c"9" or c == c"-" or c == c".":
            KINDS[c] |= NAME
        elif c == c" " or c == c"\t" or c == c"\n" or c == c"\r":
            KINDS[c] |= BLANK | PLAIN


fill_kinds()


cdef struct Name:
    const char* start
    Py_ssize_t size


cdef struct Text:
    const char* p
    # Behind the last byte, which a zero follows.
    const char* end
    # Where `p` is. Lines end between tags, and nowhere else: a value that holds one is not plain.
    int line


cdef inline bint is_kind(char c, int kind) noexcept:
    return KINDS[<unsigned char>c] & kind


cdef inline bint is_lone_return(const char* p) noexcept:
    """Whether a carriage return stands here alone: that is a line of its own to expat."""
    return p[0] == c"\r" and p[1] != c"\n"


cdef inline bint skip_blanks(Text* t) noexcept:
    """Go on to what is not blank, or is a lone carriage return; return whether there were blanks."""
    cdef const char* start = t.p
    while is_kind(t.p[0], BLANK):
        if t.p[0] == c"\n":
            t.line += 1
        elif is_lone_return(t.p):
            break
        t.p += 1
    return t.p > start


cdef inline bint skip_comment(Text* t) noexcept:
    """Go on behind a comment, which begins here."""
    t.p += 4
    while t.p + 2 < t.end:
        if t.p[0] == c"-" and t.p[1] == c"-":
            t.p += 3
            return (t.p - 1)[0] == c">"
        if not is_kind(t.p[0], PLAIN) or is_lone_return(t.p):
            return False
        t.line += t.p[0] == c"\n"
        t.p += 1
    return False


cdef inline bint is_comment(Text* t) noexcept:
    return t.end - t.p >= 7 and memcmp(t.p, b"<!--", 4) == 0


cdef inline bint skip_between(Text* t) noexcept:
    """Go on behind blanks and comments; return whether nothing is wrong with them."""
    while True:
        skip_blanks(t)
        if not is_comment(t):
            return True
        if not skip_comment(t):
            return False


cdef inline bint take_name(Text* t, Name* name) noexcept:
    if not is_kind(t.p[0], NAME_START):
        return False
    name.start = t.p
    while is_kind(t.p[0], NAME):
        t.p += 1
    name.size = t.p - name.start
    return True


cdef inline str as_shared_text(Name name, dict shared):
    """Return a name: the same object for the same name."""
    text = PyUnicode_DecodeASCII(name.start, name.size, NULL)
    return <str>PyDict_SetDefault(shared, text, text)


cdef tuple _NO_ARGUMENTS = ()


cdef inline XmlElement new_element(type element_type):
    """Return an element that nobody has initialised: in a fifth of the time of a call of its class."""
    return <XmlElement>(<PyTypeObject*>element_type).tp_new(element_type, <PyObject*>_NO_ARGUMENTS, NULL)


cdef int take_attributes(Text* t, WrittenAttributes written) except -1:
    """Take the attributes of a start tag, up to its end; return how many they are, or -2 where they are not plain."""
    cdef Name name
    cdef Attribute attribute
    cdef const Attribute* other
    cdef char mark
    cdef bint is_apart
    cdef int i, first = written.count
    while True:
        is_apart = skip_blanks(t)
        if t.p[0] == c">" or t.p[0] == c"/":
            return written.count - first
        if not (is_apart and take_name(t, &name)) or written.count - first == MAX_ATTRIBUTES:
            return -2
        skip_blanks(t)
        if t.p[0] != c"=":
            return -2
        t.p += 1
        skip_blanks(t)
        mark = t.p[0]
        if mark != c'"' and mark != c"'":
            return -2
        t.p += 1
        attribute.name, attribute.name_size = <int>(name.start - written.text), <int>name.size
        attribute.value = <int>(t.p - written.text)
        while True:
            while is_kind(t.p[0], VALUE):
                t.p += 1
            if t.p[0] == mark:
                break
            # At the end there is a zero.
            if t.p[0] != c'"' and t.p[0] != c"'":
                return -2
            t.p += 1
        attribute.value_size = <int>(t.p - written.text) - attribute.value
        for i in range(first, written.count):
            other = written.attributes + i
            if other.name_size == name.size and memcmp(written.text + other.name, name.start, name.size) == 0:
                return -2
        written.append(attribute)
        t.p += 1


def parse_plain_xml(
    bytes data not None, Py_ssize_t start, type element_type not None, document, str root_tag not None,
    frozenset text_tags not None, frozenset opaque_tags not None, int max_nesting, Py_ssize_t max_elements
):
    """Return the root of a document, or None where it is not plain, or beyond the bounds.

    Parameters
    ----------
    data : bytes
        The document.
    start : int
        Where its elements begin: behind the declaration.
    element_type : type
        Class of the elements, derived from `XmlElement`.
    document : object
        What each of them refers to.
    root_tag : str
        That of its root; another document is not for this.
    text_tags : frozenset of str
        Whose text is kept.
    opaque_tags : frozenset of str
        What is inside of these is not kept.
    max_nesting, max_elements : int
        How deep elements may be nested, and how many there may be.
    """
    cdef const char* begin = data
    cdef Text t
    cdef Py_ssize_t size = len(data), i, count = 0
    cdef int depth = 0, opaque_depth = 0
    cdef Name[MAX_DEPTH] names
    cdef Name name
    cdef XmlElement element = None, parent = None
    cdef list path = []
    cdef dict shared = {}
    cdef bint is_text
    cdef WrittenAttributes written = WrittenAttributes(data)
    cdef int num_attributes
    if not 0 <= start <= size or size > MAX_SIZE or max_nesting >= MAX_DEPTH:
        return None
    t.p = begin + start
    t.end = begin + size
    t.line = 1
    for i in range(start):
        if not is_kind(begin[i], PLAIN) or is_lone_return(begin + i):
            return None
        t.line += begin[i] == c"\n"
    root = None
    if not issubclass(element_type, XmlElement):
        return None
    while True:
        # Between tags, in the element `parent` if any.
        is_text = parent is not None and not opaque_depth and parent.tag in text_tags
        if not is_text:
            if not skip_between(&t):
                return None
            if t.p[0] != c"<" and t.p < t.end and depth:
                # Text that nobody reads.
                while is_kind(t.p[0], PLAIN) and t.p[0] != c"<":
                    if t.p[0] == c"&" or t.p[0] == c"]" or is_lone_return(t.p):
                        return None
                    t.line += t.p[0] == c"\n"
                    t.p += 1
                if not is_kind(t.p[0], PLAIN):
                    return None
                continue
        else:
            name.start = t.p
            while is_kind(t.p[0], PLAIN) and t.p[0] != c"<":
                if t.p[0] == c"&" or t.p[0] == c"]" or t.p[0] == c"\r":
                    return None
                t.line += t.p[0] == c"\n"
                t.p += 1
            text = PyUnicode_DecodeASCII(name.start, t.p - name.start, NULL)
            if len(text) > 1000 or t.p[0] != c"<" or t.p[1] != c"/":
                return None
            if text and not text.isspace():
                parent.text_parts = [text]
        if t.p >= t.end:
            return root if depth == 0 else None
        if t.p[0] != c"<":
            return None
        if t.p[1] == c"/":
            t.p += 2
            if depth == 0 or not take_name(&t, &name):
                return None
            depth -= 1
            if name.size != names[depth].size or memcmp(name.start, names[depth].start, name.size) != 0:
                return None
            skip_blanks(&t)
            if t.p[0] != c">":
                return None
            t.p += 1
            if opaque_depth:
                opaque_depth -= 1
                if opaque_depth:
                    continue
            path.pop()
            parent = <XmlElement>path[len(path) - 1] if path else None
            continue
        if depth == 0 and root is not None or depth >= max_nesting or count >= max_elements:
            return None
        count += 1
        i = t.line
        t.p += 1
        if not take_name(&t, &names[depth]):
            return None
        num_attributes = take_attributes(&t, written)
        if num_attributes < 0:
            return None
        depth += 1
        if opaque_depth:
            opaque_depth += 1
            written.count -= num_attributes
        else:
            element = new_element(element_type)
            element.tag = as_shared_text(names[depth - 1], shared)
            element.written = written
            element.first = written.count - num_attributes
            element.count = num_attributes
            element.line = <int>i
            element.document = document
            element.children = ()
            if parent is None:
                if element.tag != root_tag:
                    return None
                root = element
            elif parent.children is ():
                parent.children = [element]
            else:
                (<list>parent.children).append(element)
            path.append(element)
            parent = element
            if element.tag in opaque_tags:
                opaque_depth = 1
        if t.p[0] == c"/":
            t.p += 1
            if t.p[0] != c">":
                return None
            depth -= 1
            if opaque_depth:
                opaque_depth -= 1
            if not opaque_depth:
                path.pop()
                parent = <XmlElement>path[len(path) - 1] if path else None
        t.p += 1
