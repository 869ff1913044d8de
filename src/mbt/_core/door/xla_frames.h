/* Structures that XLA passes to a typed custom call, version 0.x of its foreign function interface, up to the last
   field that is read here. Each begins with its size and a chain of extensions. Later versions add to the end. */
#pragma once
#include <stddef.h>
#include <stdint.h>

enum { MBT_XLA_METADATA = 1, MBT_XLA_FLOAT32 = 11, MBT_XLA_FLOAT64 = 12, MBT_XLA_INVALID_ARGUMENT = 3 };

typedef struct XlaExtension {
  size_t struct_size;
  int type;
  struct XlaExtension* next;
} XlaExtension;

typedef struct {
  size_t struct_size;
  XlaExtension* extensions;
  int major, minor;
} XlaVersion;

/* By the second extension, XLA asks for which version a handler was made. */
typedef struct {
  size_t struct_size;
  XlaVersion version;
  uint32_t traits;
} XlaMetadata;

typedef struct {
  XlaExtension base;
  XlaMetadata* metadata;
} XlaMetadataExtension;

typedef struct {
  size_t struct_size;
  XlaExtension* extensions;
  int dtype;
  void* data;
  int64_t rank;
  int64_t* dims;
} XlaBuffer;

typedef struct {
  size_t struct_size;
  XlaExtension* extensions;
  int64_t size;
  int* types;
  XlaBuffer** buffers;
} XlaBuffers;

typedef struct {
  int dtype;
  void* value;
} XlaScalar;

typedef struct {
  size_t struct_size;
  XlaExtension* extensions;
  int64_t size;
  int* types;
  void** names;
  XlaScalar** values;
} XlaAttributes;

typedef struct {
  size_t struct_size;
  XlaExtension* extensions;
  const char* message;
  int code;
} XlaErrorArguments;

typedef struct {
  size_t struct_size;
  XlaExtension* extensions;
  XlaVersion version;
  const void* internal;
  void* (*create_error)(XlaErrorArguments*);
} XlaApi;

typedef struct {
  size_t struct_size;
  XlaExtension* extensions;
  const XlaApi* api;
  void* context;
  int stage;
  XlaBuffers arguments;
  XlaBuffers results;
  XlaAttributes attributes;
} XlaFrame;
