// What the function of a quantity is given, and what it leaves; and the functions of all quantities for one scalar.
#pragma once

#include <cstddef>

#include "algebra/records.hpp"

struct MbtModel;     // model/structs.pxd
struct MbtSwitches;

namespace MBT_NS {

template <class T>
struct Functions;

template <class T>
struct Call {
  const Functions<T>* functions;  // of the others, which it may call
  const int* integers;
  const MbtModel* model;
  const MbtSwitches* switches;
  const Parameters<T>* p;
  const T* q;       // (nq,)
  const T* v;       // (nv,)
  T* x;             // the input; destroyed by what the table says so of
  Kinematics<T> k;  // what the row reads of them
  T* memory;
  int* base;        // (num_bodies,)
  T* out;
  Pivots<T> pivots;  // in `memory`, of what divides by them; else null
};

// How many scalars of working memory a quantity needs besides its kinematics.
using CountMemory = std::ptrdiff_t (*)(const int* integers, const MbtModel* model);

template <class T>
struct Functions {
  void (*of[128])(Call<T>*);
  CountMemory count[128];

  void set(int quantity, void (*function)(Call<T>*), CountMemory count_memory) {
    of[quantity] = function;
    count[quantity] = count_memory;
  }

  void call(int quantity, Call<T>* c) const { of[quantity](c); }

  std::ptrdiff_t count_memory(int quantity, const int* integers, const MbtModel* model) const {
    return count[quantity](integers, model);
  }
};

}  // namespace MBT_NS
