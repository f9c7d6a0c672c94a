#include "trainer/checkpoint/ties.h"

#include <algorithm>
#include <map>
#include <utility>

namespace reprise {
namespace {

using NamesByAddress = std::map<const void*, std::vector<std::string>>;

Ties Shared(NamesByAddress names) {
  Ties ties;
  for (auto& [address, group] : names) {
    if (address == nullptr || group.size() < 2) continue;
    std::sort(group.begin(), group.end());
    ties.push_back(std::move(group));
  }
  std::sort(ties.begin(), ties.end());
  return ties;
}

}  // namespace

Ties TiesOf(const std::vector<NamedTensor>& live) {
  NamesByAddress names;
  for (const NamedTensor& t : live) {
    names[t.tensor.const_data_ptr()].push_back(t.name);
  }
  return Shared(std::move(names));
}

Ties TiesOf(const std::vector<Tensor>& saved) {
  NamesByAddress names;
  for (const Tensor& t : saved) {
    const void* address = t.data();
    if (t.storage().has_value()) {
      address =
          reinterpret_cast<const void*>(t.storage()->id + t.storage()->offset);
    }
    names[address].push_back(t.name());
  }
  return Shared(std::move(names));
}

}  // namespace reprise
