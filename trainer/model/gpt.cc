// A decoder of bytes in the style of GPT-2 (Radford et al., 2019), with its
// parameter names, its first values, and the output layer tied to the token
// embedding.
//
//   [B,T] wte + wpe -> [B,T,D] dropout
//         h.0..h.L-1, each  x + attn(ln_1(x)), x + mlp(ln_2(x))
//         ln_f, times wte transposed -> [B,T,K]
//
// D is the width (model.hidden), shared evenly by the heads. Byte t sees bytes
// 0 to t only.
#include <torch/nn/init.h>
#include <torch/nn/modules/container/modulelist.h>
#include <torch/nn/modules/dropout.h>
#include <torch/nn/modules/embedding.h>
#include <torch/nn/modules/linear.h>
#include <torch/nn/modules/normalization.h>

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "trainer/amp/autocast.h"
#include "trainer/model/module_model.h"
#include "trainer/model/nets.h"

namespace reprise {
namespace {

namespace nn = torch::nn;

// Attention of every byte to those before it and itself. Written as matrix
// products, softmax and dropout: the fused kernels sum in an order that a GPU
// does not repeat.
struct AttentionImpl : nn::Module {
  explicit AttentionImpl(const ModelOptions& o)
      : heads(o.heads),
        c_attn(register_module("c_attn", nn::Linear(o.hidden, 3 * o.hidden))),
        c_proj(register_module("c_proj", nn::Linear(o.hidden, o.hidden))),
        attn_dropout(register_module("attn_dropout", nn::Dropout(o.dropout))),
        resid_dropout(
            register_module("resid_dropout", nn::Dropout(o.dropout))) {}

  // x: [B,T,D], future: bool [T,T], true where the second is later.
  at::Tensor forward(const at::Tensor& x, const at::Tensor& future) {
    const int64_t batch = x.size(0), length = x.size(1), width = x.size(2);
    const at::Tensor qkv =
        c_attn(x)
            .view({batch, length, 3, heads, width / heads})
            .permute({2, 0, 3, 1, 4});  // [3,B,heads,T,D/heads]
    at::Tensor y;
    {
      // fp16 products of small matrices are slow on the CPU (see convnet.cc).
      const amp::FullPrecisionOnHalfCpu full_precision(x.device());
      const bool half_on_cpu =
          x.device().is_cpu() && qkv.scalar_type() == at::kHalf;
      const at::Tensor in = half_on_cpu ? qkv.to(at::kFloat) : qkv;
      at::Tensor weights =
          at::matmul(in[0], in[1].transpose(-2, -1)) *
          (1.0 / std::sqrt(static_cast<double>(width / heads)));
      weights =
          weights.masked_fill(future, -std::numeric_limits<double>::infinity());
      weights = attn_dropout(at::softmax(weights, -1));
      y = at::matmul(weights.to(in.scalar_type()),
                     in[2]);  // [B,heads,T,D/heads]
    }
    y = y.transpose(1, 2).reshape({batch, length, width});
    return resid_dropout(c_proj(y));
  }

  const int64_t heads;
  nn::Linear c_attn, c_proj;
  nn::Dropout attn_dropout, resid_dropout;
};
TORCH_MODULE(Attention);

struct FeedForwardImpl : nn::Module {
  explicit FeedForwardImpl(const ModelOptions& o)
      : c_fc(register_module("c_fc", nn::Linear(o.hidden, 4 * o.hidden))),
        c_proj(register_module("c_proj", nn::Linear(4 * o.hidden, o.hidden))),
        dropout(register_module("dropout", nn::Dropout(o.dropout))) {}

  at::Tensor forward(const at::Tensor& x) {
    return dropout(c_proj(at::gelu(c_fc(x), "tanh")));
  }

  nn::Linear c_fc, c_proj;
  nn::Dropout dropout;
};
TORCH_MODULE(FeedForward);

nn::LayerNorm Norm(const ModelOptions& o) {
  return nn::LayerNorm(nn::LayerNormOptions({o.hidden}));
}

struct BlockImpl : nn::Module {
  explicit BlockImpl(const ModelOptions& o)
      : ln_1(register_module("ln_1", Norm(o))),
        attn(register_module("attn", Attention(o))),
        ln_2(register_module("ln_2", Norm(o))),
        mlp(register_module("mlp", FeedForward(o))) {}

  at::Tensor forward(const at::Tensor& x, const at::Tensor& future) {
    const at::Tensor y = x + attn(ln_1(x), future);
    return y + mlp(ln_2(y));
  }

  nn::LayerNorm ln_1;
  Attention attn;
  nn::LayerNorm ln_2;
  FeedForward mlp;
};
TORCH_MODULE(Block);

struct Gpt : nn::Module {
  explicit Gpt(const ModelOptions& o)
      : wte(register_module("wte", nn::Embedding(o.classes, o.hidden))),
        wpe(register_module("wpe", nn::Embedding(o.sequence_length, o.hidden))),
        dropout(register_module("drop", nn::Dropout(o.dropout))),
        h(register_module("h", nn::ModuleList())),
        ln_f(register_module("ln_f", Norm(o))) {
    for (int64_t i = 0; i < o.layers; ++i) h->push_back(Block(o));
    DrawFirstValues(o);
  }

  // gpt2-normal-v1.
  void DrawFirstValues(const ModelOptions& o) {
    for (auto& item : named_parameters()) {
      at::Tensor& p = item.value();
      if (p.dim() == 2) {
        const bool into_residual = absl::EndsWith(item.key(), "c_proj.weight");
        nn::init::normal_(
            p, 0,
            into_residual
                ? 0.02 / std::sqrt(2.0 * static_cast<double>(o.layers))
                : 0.02);
      } else if (absl::EndsWith(item.key(), "bias")) {
        nn::init::zeros_(p);
      }
    }
  }

  at::Tensor forward(const at::Tensor& tokens) {
    const int64_t length = tokens.size(1);
    const at::Tensor places = at::arange(length, tokens.options());
    const at::Tensor future =
        at::ones({length, length}, tokens.options().dtype(at::kBool)).triu(1);
    // The residual stream is fp32 whatever the embeddings are kept in.
    at::Tensor x = dropout((wte(tokens) + wpe(places)).to(at::kFloat));
    for (const auto& block : *h) x = block->as<Block>()->forward(x, future);
    return at::linear(ln_f(x), wte->weight).to(at::kFloat);
  }

  nn::Embedding wte, wpe;
  nn::Dropout dropout;
  nn::ModuleList h;
  nn::LayerNorm ln_f;
};

class GptModel : public ModuleModel<Gpt> {
 public:
  using ModuleModel<Gpt>::ModuleModel;

  std::vector<NamedTensor> TiedNames() const override {
    return {{"lm_head.weight", net().wte->weight}};
  }
  const char* initialisation() const override { return kGpt2NormalV1; }
};

}  // namespace

std::unique_ptr<Model> MakeGpt(const ModelOptions& options) {
  return std::make_unique<GptModel>(std::make_shared<Gpt>(options));
}

}  // namespace reprise
