// Numbers of Python objects, by identity: to ask an object for its attributes takes ten times as long.
#pragma once
#include <Python.h>

#include <cstdint>
#include <cstdlib>

#include "engines/section.hpp"

namespace MBT_NS {

// A hash table with open addressing, which is filled once. Whoever has it keeps the objects alive.
class Identities {
 public:
  Identities() = default;
  ~Identities() { std::free(slots_); }
  Identities(const Identities&) = delete;
  Identities& operator=(const Identities&) = delete;

  // Room for so many objects: twice as many slots, so that most are found at once. False when there is no memory left.
  bool reserve(std::size_t count) {
    int bits = 1;
    while ((std::size_t{1} << bits) < 2 * count) ++bits;
    slots_ = static_cast<Slot*>(std::calloc(std::size_t{1} << bits, sizeof(Slot)));
    shift_ = 64 - bits;
    mask_ = (std::size_t{1} << bits) - 1;
    return slots_ != nullptr;
  }

  bool is_empty() const { return slots_ == nullptr; }

  // Become what `other` is, and leave it empty.
  void take(Identities& other) {
    shift_ = other.shift_;
    mask_ = other.mask_;
    publish();
    slots_ = other.slots_;
    other.slots_ = nullptr;
  }

  void add(PyObject* object, int number) { slots_[place(object)] = Slot{object, number}; }

  // -1: it is none of these.
  int find(PyObject* object) const {
    const Slot& slot = slots_[place(object)];
    return slot.object == nullptr ? -1 : slot.number;
  }

 private:
  struct Slot {
    PyObject* object;
    int number;
  };

  // Where an object is, or would be. Fibonacci hashing: Knuth, "The Art of Computer Programming", vol. 3, 6.4.
  std::size_t place(PyObject* object) const {
    const std::uint64_t address = reinterpret_cast<std::uintptr_t>(object);
    std::size_t i = static_cast<std::size_t>((address * 0x9E3779B97F4A7C15u) >> shift_);
    while (slots_[i].object != object && slots_[i].object != nullptr) i = (i + 1) & mask_;
    return i;
  }

  Slot* slots_ = nullptr;
  std::size_t mask_ = 0;
  int shift_ = 0;
};

}  // namespace MBT_NS
