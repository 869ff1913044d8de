// Sizes of arrays that depend on a model, as 6 nb + nv does: sums of multiples of its dimensions.
#pragma once

namespace mbt {

enum Dimension {
  kOne,
  kBodies,
  kMovingBodies,  // all except World
  kFrames,
  kJoints,
  kPositions,
  kVelocities,
  kEquations,
  kMobilizerPositions,  // of the mobilizer of one body
  kMobilizerVelocities,
  kPoints,
  kRates,             // velocities, or positions for a Jacobian with respect to qdot
  kGivenBodies,       // bodies and velocities if the optional part of the input is given, else 0
  kGivenVelocities,
  kKeptSteps,         // for a rollout: the states that are kept
  kStepInputs,        // velocities, for each step or once
  kContactPoints      // of one force element
};

struct Term {
  short factor;
  short dimension;
};

struct Size {
  int num_terms;
  Term terms[3];

  // A number of points: a single one may have no axis.
  constexpr bool counts_points() const {
    return num_terms == 1 && terms[0].factor == 1 && terms[0].dimension == kPoints;
  }
};

constexpr Size operator+(Size a, const Size& b) {
  for (int i = 0; i < b.num_terms; ++i) a.terms[a.num_terms++] = b.terms[i];
  return a;
}

constexpr Size operator*(int n, Size a) {
  for (int i = 0; i < a.num_terms; ++i) a.terms[i].factor = static_cast<short>(n * a.terms[i].factor);
  return a;
}

constexpr Size size_of(int dimension) { return Size{1, {{1, static_cast<short>(dimension)}}}; }

}  // namespace mbt
