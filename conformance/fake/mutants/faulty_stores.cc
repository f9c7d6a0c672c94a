#include "conformance/fake/mutants/faulty_stores.h"

#include <algorithm>
#include <cstdlib>
#include <optional>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"

namespace reprise::conformance::fake {
namespace {

using Choose =
    std::function<std::string(const std::vector<std::string>& oldest_first)>;

class ChoosingStore : public ForwardingStore {
 public:
  ChoosingStore(std::unique_ptr<Store> store, FileStore* files, Choose choose)
      : ForwardingStore(std::move(store)),
        files_(files),
        choose_(std::move(choose)) {}

  absl::StatusOr<std::optional<Loaded>> Load() override {
    auto names = files_->List();
    if (!names.ok()) return names.status();
    if (names->empty()) return store()->Load();
    absl::StatusOr<Loaded> loaded = files_->LoadNamed(choose_(*names));
    if (!loaded.ok()) return loaded.status();
    return std::optional<Loaded>(*std::move(loaded));
  }

 private:
  FileStore* const files_;
  const Choose choose_;
};

class ForgetfulStore : public ForwardingStore {
 public:
  using ForwardingStore::ForwardingStore;
  absl::StatusOr<std::optional<Loaded>> Load() override {
    auto loaded = store()->Load();
    if (!loaded.ok() || !loaded->has_value()) return loaded;
    State nothing;
    nothing.set_attempt((*loaded)->state.attempt() + 1);
    absl::Status status = store()->ResumeFrom(nothing);
    if (!status.ok()) return status;
    return std::optional<Loaded>();
  }
};

// Right until something is resumed.
class StoreOfResumes : public ForwardingStore {
 public:
  using ForwardingStore::ForwardingStore;
  absl::StatusOr<std::optional<Loaded>> Load() override {
    auto loaded = store()->Load();
    resumed_ = loaded.ok() && loaded->has_value();
    return loaded;
  }

 protected:
  bool resumed() const { return resumed_; }

 private:
  bool resumed_ = false;
};

class SwallowingStore : public StoreOfResumes {
 public:
  using StoreOfResumes::StoreOfResumes;
  absl::Status Commit(const State& state, SaveWatch* watch) override {
    if (!resumed()) return store()->Commit(state, watch);
    watch->Durable(absl::StrCat(CheckpointName(state), ":unwritten"), state);
    return absl::OkStatus();
  }
};

class MarkingStore : public StoreOfResumes {
 public:
  using StoreOfResumes::StoreOfResumes;
  std::string At(uint64_t step) override {
    return resumed() ? Newest() : store()->At(step);
  }
};

// What a background save still has to do.
struct Unwritten {
  std::optional<State> state;
  SaveWatch* watch = nullptr;
  Store* store = nullptr;
};

class LateStore : public ForwardingStore {
 public:
  LateStore(std::unique_ptr<Store> store, std::shared_ptr<Unwritten> unwritten,
            uint64_t last_step)
      : ForwardingStore(std::move(store)),
        unwritten_(std::move(unwritten)),
        last_step_(last_step) {
    unwritten_->store = this->store();
  }
  absl::Status Commit(const State& state, SaveWatch* watch) override {
    // Nothing trains after the last step, so that save is whole.
    if (state.counters().step() >= last_step_) {
      return store()->Commit(state, watch);
    }
    unwritten_->state = state;
    unwritten_->watch = watch;
    return absl::OkStatus();
  }

 private:
  const std::shared_ptr<Unwritten> unwritten_;
  const uint64_t last_step_;
};

class LateWriter : public Observer {
 public:
  explicit LateWriter(std::shared_ptr<Unwritten> unwritten)
      : unwritten_(std::move(unwritten)) {}
  void At(const Place& place, State* state) override {
    if (place.point != v1::P6 || !unwritten_->state.has_value()) return;
    State torn = *std::move(unwritten_->state);
    unwritten_->state.reset();
    for (int i = torn.parameters_size() / 2; i < torn.parameters_size(); ++i) {
      *torn.mutable_parameters(i) = state->parameters(i);
    }
    absl::Status status = unwritten_->store->Commit(torn, unwritten_->watch);
    if (!status.ok()) std::abort();
  }

 private:
  const std::shared_ptr<Unwritten> unwritten_;
};

Customise Choosing(Choose choose) {
  return [=](const Assembly& assembly) {
    *assembly.store = std::make_unique<ChoosingStore>(
        std::move(*assembly.store), assembly.files, choose);
  };
}

template <typename Wrong>
Customise Replace() {
  return [](const Assembly& assembly) {
    *assembly.store = std::make_unique<Wrong>(std::move(*assembly.store));
  };
}

}  // namespace

Customise ChooseSecondNewest() {
  return Choosing([](const std::vector<std::string>& names) {
    return names[names.size() < 2 ? 0 : names.size() - 2];
  });
}

Customise ChooseByName() {
  return Choosing([](const std::vector<std::string>& names) {
    auto unpadded = [](const std::string& name) {
      const size_t digits = name.find_first_not_of('0', 5);
      return digits == std::string::npos ? "0" : name.substr(digits);
    };
    return *std::max_element(names.begin(), names.end(),
                             [&](const auto& a, const auto& b) {
                               return unpadded(a) < unpadded(b);
                             });
  });
}

Customise StartFromScratch() { return Replace<ForgetfulStore>(); }
Customise SwallowSaves() { return Replace<SwallowingStore>(); }

Customise MarkNewestAsBest() { return Replace<MarkingStore>(); }

Customise SaveLiveTensors() {
  return [](const Assembly& assembly) {
    auto unwritten = std::make_shared<Unwritten>();
    *assembly.store = std::make_unique<LateStore>(
        std::move(*assembly.store), unwritten, assembly.bed.steps);
    assembly.parts->observers.push_back(
        std::make_unique<LateWriter>(unwritten));
  };
}

}  // namespace reprise::conformance::fake
