// Draws of the fake trainer's random generators. The state is a GeneratorState
// and nothing else: a draw is Mix64 of a key of (seed, offset), and moves the
// offset by one.
#ifndef REPRISE_CONFORMANCE_FAKE_GENERATOR_H_
#define REPRISE_CONFORMANCE_FAKE_GENERATOR_H_

#include <cstdint>

#include "conformance/fake/state.pb.h"
#include "format/random/mix.h"

namespace reprise::conformance::fake {

// Uniform in [0, 1), a multiple of 2^-24.
inline float Draw(GeneratorState* generator) {
  const uint64_t word = KeyOf(generator->seed(), {generator->offset()});
  generator->set_offset(generator->offset() + 1);
  return static_cast<float>(word >> 40) * 0x1p-24f;
}

// What dropout draws from: the device's generator where there is one.
inline GeneratorState* DropoutGenerator(State* state) {
  return state->has_cuda() ? state->mutable_cuda() : state->mutable_cpu();
}

}  // namespace reprise::conformance::fake

#endif  // REPRISE_CONFORMANCE_FAKE_GENERATOR_H_
