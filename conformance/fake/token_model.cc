// The token model: embeddings of three tokens -> dropout -> body -> tanh ->
// output layer, whose weight is the embedding's.
#include <array>
#include <cmath>
#include <string>

#include "conformance/fake/arrays.h"
#include "conformance/fake/generator.h"
#include "conformance/fake/layers.h"
#include "conformance/fake/models.h"
#include "format/random/philox.h"

namespace reprise::conformance::fake {
namespace {

constexpr int kTokens = 24;
constexpr int kWidth = 8;
constexpr int kContext = 3;
constexpr float kTokenDrop = 0.05f;  // chance that an input token reads as 0
constexpr uint64_t kDataSeed = 1;

struct Sample {
  std::array<int, kContext> context;
  int next = 0;
};

Sample MakeSample(uint64_t split, uint64_t index) {
  Stream stream(kDataSeed, StreamPurpose::kSyntheticSample, split, index);
  Sample sample;
  for (int& token : sample.context) {
    token = static_cast<int>(stream.UniformU32Below(kTokens));
  }
  sample.next =
      stream.UniformU32Below(10) < 8
          ? (sample.context[0] / 6 + 6 * (sample.context[2] / 6)) % kTokens
          : static_cast<int>(stream.UniformU32Below(kTokens));
  return sample;
}

// The output layer's weight: the embedding, unless the tie was lost.
std::string OutputWeightName(const State& state) {
  for (const Tie& tie : state.ties()) {
    if (tie.name() == "output.weight") return tie.of();
  }
  return "output.weight";
}

class TokenModel : public Model {
 public:
  double LossAndGradients(const Batch& batch, float factor, State* state,
                          Arrays* gradients) override {
    const Arrays& p = state->parameters();
    const std::string& precision = state->precision().autocast();
    const bool training = state->mode() == "train";
    std::vector<int> inputs, labels;
    for (uint64_t id : batch.ids) {
      const Sample sample = MakeSample(0, id);
      labels.push_back(sample.next);
      for (int token : sample.context) {
        inputs.push_back(Draw(state->mutable_cpu()) < kTokenDrop ? 0 : token);
      }
    }
    Matrix x = Embed(inputs, p), mask;
    if (training) {
      Dropout(static_cast<float>(state->dropout()), DropoutGenerator(state), &x,
              &mask);
    }
    Matrix h = Body(x, p, precision);
    const std::string output = OutputWeightName(*state);
    Matrix logits =
        Linear(h, *Find(output, p), Find("output.bias", p), precision);
    Matrix dlogits;
    const double loss = CrossEntropy(logits, labels, &dlogits);
    for (float& d : dlogits) d *= factor;

    Arrays own = ZerosLike(p);
    Matrix dh = LinearBackward(h, *Find(output, p), dlogits, Find(output, &own),
                               Find("output.bias", &own));
    for (size_t i = 0; i < dh.size(); ++i) dh[i] *= 1 - h[i] * h[i];
    Matrix dx =
        LinearBackward(x, *Find("body.weight", p), dh,
                       Find("body.weight", &own), Find("body.bias", &own));
    float* de =
        Find("embedding.weight", &own)->mutable_values()->mutable_data();
    for (size_t i = 0; i < dx.size(); ++i) {
      const float d = mask.empty() ? dx[i] : dx[i] * mask[i];
      de[inputs[i / kWidth] * kWidth + i % kWidth] += d;
    }
    for (int i = 0; i < own.size(); ++i) {
      AddRounded(precision, own[i], gradients->Mutable(i));
    }
    return loss;
  }

  double HeldOutLoss(uint64_t index, const Arrays& weights,
                     const State& state) override {
    const Sample sample = MakeSample(1, index);
    const std::string& precision = state.precision().autocast();
    Matrix h =
        Body(Embed({sample.context.begin(), sample.context.end()}, weights),
             weights, precision);
    Matrix logits = Linear(h, *Find(OutputWeightName(state), weights),
                           Find("output.bias", weights), precision);
    Matrix unused;
    return CrossEntropy(logits, {sample.next}, &unused);
  }

 private:
  // [B * kContext] tokens -> [B, kContext * kWidth].
  static Matrix Embed(const std::vector<int>& tokens, const Arrays& p) {
    const float* e = Find("embedding.weight", p)->values().data();
    Matrix x;
    for (int token : tokens) {
      x.insert(x.end(), e + token * kWidth, e + (token + 1) * kWidth);
    }
    return x;
  }

  static Matrix Body(const Matrix& x, const Arrays& p,
                     const std::string& precision) {
    Matrix h =
        Linear(x, *Find("body.weight", p), Find("body.bias", p), precision);
    for (float& value : h) value = std::tanh(value);
    return h;
  }
};

}  // namespace

std::unique_ptr<Model> MakeTokenModel() {
  return std::make_unique<TokenModel>();
}

void InitialiseTokenModel(State* state) {
  struct Shape {
    const char* name;
    int rows, columns;
    float bound;
  };
  for (const Shape& shape :
       {Shape{"embedding.weight", kTokens, kWidth, 0.5f},
        Shape{"body.weight", kWidth, kContext * kWidth, 0.2f},
        Shape{"body.bias", kWidth, 1, 0.2f},
        Shape{"output.bias", kTokens, 1, 0.0f}}) {
    Array* array = state->add_parameters();
    array->set_name(shape.name);
    array->set_rows(shape.rows);
    array->set_columns(shape.columns);
    for (int i = 0; i < shape.rows * shape.columns; ++i) {
      array->add_values(shape.bound * (2 * Draw(state->mutable_cpu()) - 1));
    }
  }
  Tie* tie = state->add_ties();
  tie->set_name("output.weight");
  tie->set_of("embedding.weight");
}

}  // namespace reprise::conformance::fake
