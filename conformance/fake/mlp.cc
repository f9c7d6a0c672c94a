// The MLP: hidden1 -> relu -> batch norm -> dropout -> hidden2 -> relu ->
// dropout -> output.
#include <array>
#include <cmath>
#include <string>
#include <unordered_map>

#include "conformance/fake/arrays.h"
#include "conformance/fake/generator.h"
#include "conformance/fake/layers.h"
#include "conformance/fake/models.h"
#include "format/random/philox.h"

namespace reprise::conformance::fake {
namespace {

constexpr int kWidth = 16;  // inputs and both hidden layers
constexpr int kClasses = 4;
constexpr float kNormEpsilon = 1e-5f;
constexpr float kNormMomentum = 0.1f;
// Which samples exist is no matter of a run's seed.
constexpr uint64_t kDataSeed = 1;

struct Sample {
  std::array<float, kWidth> x;
  int label = 0;
};

// `split` is 0 for training, 1 for held-out samples.
Sample MakeSample(uint64_t split, uint64_t index) {
  Stream stream(kDataSeed, StreamPurpose::kSyntheticSample, split, index);
  Sample sample;
  sample.label = static_cast<int>(stream.UniformU32Below(kClasses));
  Stream pattern(kDataSeed, StreamPurpose::kSyntheticPattern, 0, sample.label);
  for (float& x : sample.x) {
    x = static_cast<float>(3 * (pattern.UniformDouble() - 0.5) +
                           3 * (stream.UniformDouble() - 0.5));
  }
  // One label in eight is wrong, so that the loss has a floor and evaluations
  // get worse as well as better.
  if (stream.UniformU32Below(8) == 0) {
    sample.label = static_cast<int>(stream.UniformU32Below(kClasses));
  }
  return sample;
}

// What one forward pass leaves for the backward pass.
struct Pass {
  Matrix x, h1, normalised, d1, mask1, h2, d2, mask2, logits;
  std::array<float, kWidth> inverse_deviation;
  bool batch_statistics = false;
};

void Relu(Matrix* x) {
  // Written so that a NaN goes through.
  for (float& value : *x) value = value < 0 ? 0.0f : value;
}

class Mlp : public Model {
 public:
  explicit Mlp(const Bed& bed) : noise_(static_cast<float>(bed.noise)) {
    for (uint64_t i = 0; i < kHeldOutSamples; ++i) {
      held_out_.push_back(MakeSample(1, i));
    }
  }

  double LossAndGradients(const Batch& batch, float factor, State* state,
                          Arrays* gradients) override {
    const bool training = state->mode() == "train";
    Pass pass;
    std::vector<int> labels;
    for (uint64_t id : batch.ids) {
      const Sample& sample = TrainingSample(id);
      labels.push_back(sample.label);
      Stream augmentation(state->augmentation_seed(),
                          StreamPurpose::kAugmentation, batch.epoch, id);
      const float shift =
          0.2f * (static_cast<float>(augmentation.UniformDouble()) - 0.5f);
      for (float x : sample.x) {
        const float noise = Draw(state->mutable_cpu()) - 0.5f;
        pass.x.push_back(x + shift + noise_ * noise);
      }
    }
    Forward(state->parameters(), training, state, &pass);
    Matrix dlogits;
    const double loss = CrossEntropy(pass.logits, labels, &dlogits);
    for (float& d : dlogits) d *= factor;
    Backward(pass, *state, std::move(dlogits), gradients);
    return loss;
  }

  double HeldOutLoss(uint64_t index, const Arrays& weights,
                     const State& state) override {
    const Sample& sample = held_out_[index];
    Pass pass;
    pass.x.assign(sample.x.begin(), sample.x.end());
    // Evaluation draws nothing and writes no buffer: a copy costs little.
    State scratch;
    *scratch.mutable_buffers() = state.buffers();
    *scratch.mutable_precision() = state.precision();
    Forward(weights, /*training=*/false, &scratch, &pass);
    Matrix unused;
    return CrossEntropy(pass.logits, {sample.label}, &unused);
  }

 private:
  const Sample& TrainingSample(uint64_t id) {
    auto [found, fresh] = samples_.try_emplace(id);
    if (fresh) found->second = MakeSample(0, id);
    return found->second;
  }

  void Forward(const Arrays& p, bool training, State* state, Pass* pass) {
    const std::string& precision = state->precision().autocast();
    pass->h1 = Linear(pass->x, *Find("hidden1.weight", p),
                      Find("hidden1.bias", p), precision);
    Relu(&pass->h1);
    Normalise(p, training, state->mutable_buffers(), pass);
    if (training) {
      Dropout(static_cast<float>(state->dropout()), DropoutGenerator(state),
              &pass->d1, &pass->mask1);
    }
    pass->h2 = Linear(pass->d1, *Find("hidden2.weight", p),
                      Find("hidden2.bias", p), precision);
    Relu(&pass->h2);
    pass->d2 = pass->h2;
    if (training) {
      Dropout(static_cast<float>(state->dropout()), DropoutGenerator(state),
              &pass->d2, &pass->mask2);
    }
    pass->logits = Linear(pass->d2, *Find("output.weight", p),
                          Find("output.bias", p), precision);
  }

  static void Normalise(const Arrays& p, bool training, Arrays* buffers,
                        Pass* pass) {
    Array* running_mean = Find("norm.running_mean", buffers);
    Array* running_variance = Find("norm.running_var", buffers);
    Array* tracked = Find("norm.num_batches_tracked", buffers);
    const Array& scale = *Find("norm.weight", p);
    const Array& offset = *Find("norm.bias", p);
    const int batch = static_cast<int>(pass->h1.size()) / kWidth;
    pass->batch_statistics = training && batch > 1;
    pass->normalised.resize(pass->h1.size());
    pass->d1.resize(pass->h1.size());
    for (int c = 0; c < kWidth; ++c) {
      float mean = running_mean->values(c);
      float variance = running_variance->values(c);
      if (pass->batch_statistics) {
        double sum = 0, squares = 0;
        for (int b = 0; b < batch; ++b) sum += pass->h1[b * kWidth + c];
        mean = static_cast<float>(sum / batch);
        for (int b = 0; b < batch; ++b) {
          const double d = double{pass->h1[b * kWidth + c]} - mean;
          squares += d * d;
        }
        variance = static_cast<float>(squares / batch);
        running_mean->set_values(c,
                                 (1 - kNormMomentum) * running_mean->values(c) +
                                     kNormMomentum * mean);
        running_variance->set_values(
            c, (1 - kNormMomentum) * running_variance->values(c) +
                   kNormMomentum * static_cast<float>(squares / (batch - 1)));
      }
      pass->inverse_deviation[c] = 1.0f / std::sqrt(variance + kNormEpsilon);
      for (int b = 0; b < batch; ++b) {
        const int i = b * kWidth + c;
        pass->normalised[i] = (pass->h1[i] - mean) * pass->inverse_deviation[c];
        pass->d1[i] = scale.values(c) * pass->normalised[i] + offset.values(c);
      }
    }
    if (pass->batch_statistics) {
      tracked->set_values(0, tracked->values(0) + 1);
    }
  }

  static void Backward(const Pass& pass, const State& state, Matrix dlogits,
                       Arrays* gradients) {
    const Arrays& p = state.parameters();
    Arrays own = ZerosLike(p);
    Matrix d2 =
        LinearBackward(pass.d2, *Find("output.weight", p), dlogits,
                       Find("output.weight", &own), Find("output.bias", &own));
    for (size_t i = 0; i < d2.size(); ++i) {
      if (!pass.mask2.empty()) d2[i] *= pass.mask2[i];
      if (pass.h2[i] <= 0) d2[i] = 0;
    }
    Matrix d1 = LinearBackward(pass.d1, *Find("hidden2.weight", p), d2,
                               Find("hidden2.weight", &own),
                               Find("hidden2.bias", &own));
    if (!pass.mask1.empty()) {
      for (size_t i = 0; i < d1.size(); ++i) d1[i] *= pass.mask1[i];
    }
    Matrix dh = NormaliseBackward(pass, *Find("norm.weight", p), d1, &own);
    for (size_t i = 0; i < dh.size(); ++i) {
      if (pass.h1[i] <= 0) dh[i] = 0;
    }
    LinearBackward(pass.x, *Find("hidden1.weight", p), dh,
                   Find("hidden1.weight", &own), Find("hidden1.bias", &own));
    for (int i = 0; i < own.size(); ++i) {
      AddRounded(state.precision().autocast(), own[i], gradients->Mutable(i));
    }
  }

  static Matrix NormaliseBackward(const Pass& pass, const Array& scale,
                                  const Matrix& dy, Arrays* gradients) {
    Array* dscale = Find("norm.weight", gradients);
    Array* doffset = Find("norm.bias", gradients);
    const int batch = static_cast<int>(dy.size()) / kWidth;
    Matrix dx(dy.size());
    for (int c = 0; c < kWidth; ++c) {
      float sum = 0, product = 0;
      for (int b = 0; b < batch; ++b) {
        sum += dy[b * kWidth + c];
        product += dy[b * kWidth + c] * pass.normalised[b * kWidth + c];
      }
      doffset->set_values(c, doffset->values(c) + sum);
      dscale->set_values(c, dscale->values(c) + product);
      const float factor = scale.values(c) * pass.inverse_deviation[c];
      for (int b = 0; b < batch; ++b) {
        const int i = b * kWidth + c;
        dx[i] = pass.batch_statistics
                    ? factor * (dy[i] - sum / batch -
                                pass.normalised[i] * product / batch)
                    : factor * dy[i];
      }
    }
    return dx;
  }

  const float noise_;
  std::vector<Sample> held_out_;
  std::unordered_map<uint64_t, Sample> samples_;
};

void AddArray(const std::string& name, int rows, int columns, Arrays* arrays) {
  Array* array = arrays->Add();
  array->set_name(name);
  array->set_rows(rows);
  array->set_columns(columns);
  array->mutable_values()->Resize(rows * columns, 0.0f);
}

}  // namespace

std::unique_ptr<Model> MakeMlp(const Bed& bed) {
  return std::make_unique<Mlp>(bed);
}

void InitialiseMlp(State* state) {
  Arrays* p = state->mutable_parameters();
  AddArray("hidden1.weight", kWidth, kWidth, p);
  AddArray("hidden1.bias", kWidth, 1, p);
  AddArray("norm.weight", kWidth, 1, p);
  AddArray("norm.bias", kWidth, 1, p);
  AddArray("hidden2.weight", kWidth, kWidth, p);
  AddArray("hidden2.bias", kWidth, 1, p);
  AddArray("output.weight", kClasses, kWidth, p);
  AddArray("output.bias", kClasses, 1, p);
  const float bound = 1.0f / std::sqrt(static_cast<float>(kWidth));
  for (Array& array : *p) {
    for (float& value : *array.mutable_values()) {
      value = array.name() == "norm.weight" ? 1.0f
              : array.name() == "norm.bias"
                  ? 0.0f
                  : bound * (2 * Draw(state->mutable_cpu()) - 1);
    }
  }
  Arrays* buffers = state->mutable_buffers();
  AddArray("norm.running_mean", kWidth, 1, buffers);
  AddArray("norm.running_var", kWidth, 1, buffers);
  for (float& value : *buffers->Mutable(1)->mutable_values()) value = 1;
  AddArray("norm.num_batches_tracked", 1, 1, buffers);
}

}  // namespace reprise::conformance::fake
