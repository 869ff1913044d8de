// Sizes of arrays that depend on a model, as 6 nb + nv does: sums of multiples of its dimensions.
#pragma once
#include <cstddef>

namespace mbt {

enum Dimension {
  kOne,
  kBodies,
  kMovingBodies,  // all but World
  kFrames,
  kJoints,
  kPositions,
  kVelocities,
  kMobilizerPositions,  // of the mobilizer of one body
  kMobilizerVelocities,
  kPoints,
  kRates,             // velocities, or positions where a Jacobian is one with respect to qdot
  kGivenBodies,       // bodies and velocities where the part of the input that may be left out is there, else 0
  kGivenVelocities,
  kNumDimensions
};

struct Size {
  signed char of[kNumDimensions];

  constexpr std::ptrdiff_t count(const std::ptrdiff_t* dimensions) const {
    std::ptrdiff_t total = 0;
    for (int i = 0; i < kNumDimensions; ++i) total += of[i] * dimensions[i];
    return total;
  }
};

constexpr Size operator+(Size a, const Size& b) {
  for (int i = 0; i < kNumDimensions; ++i) a.of[i] = static_cast<signed char>(a.of[i] + b.of[i]);
  return a;
}

constexpr Size operator*(int n, Size a) {
  for (int i = 0; i < kNumDimensions; ++i) a.of[i] = static_cast<signed char>(n * a.of[i]);
  return a;
}

constexpr Size size_of(Dimension dimension) {
  Size size{};
  size.of[dimension] = 1;
  return size;
}

}  // namespace mbt
