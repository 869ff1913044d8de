"""A Python function that programs compiled by XLA call, on the memory of their operands and results.

XLA's foreign function interface of version 0 (`xla/ffi/api/c_api.h` of OpenXLA): there is a single handler, and an
attribute selects what it computes. XLA is needed neither to compile nor to link: `xla_frames.h` declares the structures
that it passes. A call takes a few microseconds, one of `jax.pure_callback` some hundreds.
"""

cimport numpy as cnp
from cpython.pycapsule cimport PyCapsule_New
from libc.stdint cimport int64_t

cnp.import_array()


cdef extern from "door/xla_frames.h":
    enum:
        MBT_XLA_METADATA
        MBT_XLA_FLOAT32
        MBT_XLA_FLOAT64
        MBT_XLA_INVALID_ARGUMENT
    ctypedef struct XlaExtension:
        int type
        XlaExtension* next
    ctypedef struct XlaVersion:
        int major
        int minor
    ctypedef struct XlaMetadata:
        XlaVersion version
        unsigned int traits
    ctypedef struct XlaMetadataExtension:
        XlaMetadata* metadata
    ctypedef struct XlaBuffer:
        int dtype
        void* data
        int64_t rank
        int64_t* dims
    ctypedef struct XlaBuffers:
        int64_t size
        XlaBuffer** buffers
    ctypedef struct XlaScalar:
        void* value
    ctypedef struct XlaAttributes:
        XlaScalar** values
    ctypedef struct XlaErrorArguments:
        size_t struct_size
        XlaExtension* extensions
        const char* message
        int code
    ctypedef struct XlaApi:
        void* (*create_error)(XlaErrorArguments*) noexcept
    ctypedef struct XlaFrame:
        XlaExtension* extensions
        const XlaApi* api
        XlaBuffers arguments
        XlaBuffers results
        XlaAttributes attributes


cdef object called = None


def set_function(function):
    """Let compiled programs call `function(number, operands, results)`: their attribute, and tuples of arrays."""
    global called
    called = function


def get_handler():
    """Return the capsule that `jax.ffi.register_ffi_target` takes."""
    return PyCapsule_New(<void*>handle, NULL, NULL)


cdef object view(XlaBuffer* buffer):
    """The memory of an operand or a result, valid during the call."""
    if buffer.dtype != MBT_XLA_FLOAT64 and buffer.dtype != MBT_XLA_FLOAT32:
        raise TypeError("expected arrays of float64 or float32")
    return cnp.PyArray_SimpleNewFromData(
        <int>buffer.rank, <cnp.npy_intp*>buffer.dims,
        cnp.NPY_DOUBLE if buffer.dtype == MBT_XLA_FLOAT64 else cnp.NPY_FLOAT, buffer.data)


cdef tuple views(XlaBuffers* buffers):
    return tuple([view(buffers.buffers[i]) for i in range(buffers.size)])


cdef bytes run(XlaFrame* frame):
    """Call the function; return the text of its error, if there is one."""
    try:
        called((<int64_t*>frame.attributes.values[0].value)[0], views(&frame.arguments), views(&frame.results))
    except BaseException as error:  # also an interrupt: it ends the program, which raises an error with this text
        return f"{type(error).__name__}: {error}".encode("utf-8", "replace")
    return None


cdef void* handle(XlaFrame* frame) noexcept nogil:
    cdef XlaExtension* extension = frame.extensions
    cdef XlaMetadata* metadata
    cdef XlaErrorArguments error
    while extension != NULL:
        if extension.type == MBT_XLA_METADATA:
            metadata = (<XlaMetadataExtension*>extension).metadata
            metadata.version.major, metadata.version.minor, metadata.traits = 0, 1, 0
            return NULL
        extension = extension.next
    with gil:
        message = run(frame)
        if message is None:
            return NULL
        error.struct_size = sizeof(XlaErrorArguments)
        error.extensions = NULL
        error.message = <const char*>(<bytes>message)
        error.code = MBT_XLA_INVALID_ARGUMENT
        return frame.api.create_error(&error)
