// Arguments and results of the function of a quantity, and the functions of all quantities for one scalar.
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
  const Functions<T>* functions;  // of other quantities, which it may call
  const int* integers;
  const MbtModel* model;
  const MbtSwitches* switches;
  const Parameters<T>* p;
  const T* gravity;  // for motion forces: (3,), or null for none
  const T* q;       // (nq,)
  const T* v;       // (nv,)
  T* x;             // the input; destroyed if the table says so
  Kinematics<T> k;  // those that the quantity reads
  T* memory;
  int* base;        // (num_bodies,)
  T* out;
  Pivots<T> pivots;  // in `memory`, if it divides by them; else null
};

// Number of scalars of working memory that a quantity needs in addition to its kinematics.
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
