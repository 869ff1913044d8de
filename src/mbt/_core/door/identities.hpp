// Indices of Python objects, by identity: reading an attribute of an object takes ten times as long.
#pragma once
#include <Python.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdlib>

#include "scalars/config.hpp"

namespace MBT_NS {

// A hash table with open addressing, filled by one thread and then read by others. Its owner keeps the objects alive.
class Identities {
 public:
  Identities() = default;
  ~Identities() { clear(); }
  Identities(const Identities&) = delete;
  Identities& operator=(const Identities&) = delete;

  bool is_empty() const { return table() == nullptr; }

  // Reserve space for `count` objects, with at least twice as many slots, so that most are found at once. False if out
  // of memory.
  bool reserve(std::size_t count) {
    int bits = 1;
    while ((std::size_t{1} << bits) < 2 * count) ++bits;
    const std::size_t size = std::size_t{1} << bits;
    clear();
    Table* made = static_cast<Table*>(std::calloc(1, sizeof(Table) + size * sizeof(Slot)));
    if (made == nullptr) return false;
    made->mask = size - 1;
    made->shift = 64 - bits;
    table_.store(made, std::memory_order_release);
    return true;
  }

  void add(PyObject* object, int number) { table()->slots()[table()->place(object)] = Slot{object, number}; }

  // -1 if the object is not in the table.
  int find(PyObject* object) const {
    Table* all = table();
    const Slot& slot = all->slots()[all->place(object)];
    return slot.object == nullptr ? -1 : slot.number;
  }

  // Take over the contents of `other`, and leave it empty.
  void take(Identities& other) { std::free(table_.exchange(other.table_.exchange(nullptr))); }

  void clear() { std::free(table_.exchange(nullptr)); }

 private:
  struct Slot {
    PyObject* object;
    int number;
  };

  // One block of memory, so that a thread that sees the table sees all of it.
  struct Table {
    std::size_t mask;
    int shift;

    Slot* slots() { return reinterpret_cast<Slot*>(this + 1); }

    // The slot of an object, or the one it would get. Fibonacci hashing: Knuth, "The Art of Computer Programming", vol.
    // 3, 6.4.
    std::size_t place(PyObject* object) {
      const std::uint64_t address = reinterpret_cast<std::uintptr_t>(object);
      std::size_t i = static_cast<std::size_t>((address * 0x9E3779B97F4A7C15u) >> shift);
      while (slots()[i].object != object && slots()[i].object != nullptr) i = (i + 1) & mask;
      return i;
    }
  };

  Table* table() const { return table_.load(std::memory_order_acquire); }

  std::atomic<Table*> table_{nullptr};
};

}  // namespace MBT_NS
