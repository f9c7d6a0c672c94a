// The fake trainer's two models and their data. Not thread-safe.
//
// Shapes: B samples of a micro-step, row-major everywhere.
#ifndef REPRISE_CONFORMANCE_FAKE_MODELS_H_
#define REPRISE_CONFORMANCE_FAKE_MODELS_H_

#include <memory>

#include "conformance/fake/parts.h"

namespace reprise::conformance::fake {

// Classifier: 16 inputs, two hidden layers of 16, batch norm after the first,
// dropout after both, 4 classes; cross-entropy.
std::unique_ptr<Model> MakeMlp(const Bed& bed);
// Next token of three: embedding of 24 tokens x 8, one hidden layer, output
// layer tied to the embedding.
std::unique_ptr<Model> MakeTokenModel();

// Adds parameters (drawn from the state's cpu generator), buffers and ties.
void InitialiseMlp(State* state);
void InitialiseTokenModel(State* state);

}  // namespace reprise::conformance::fake

#endif  // REPRISE_CONFORMANCE_FAKE_MODELS_H_
