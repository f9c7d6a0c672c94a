// Ways to put a fault into a right trainer from outside: each returns a
// Customise that wraps one part. A State edit gets the state just read from (or
// about to go to) a checkpoint.
#ifndef REPRISE_CONFORMANCE_FAKE_MUTANTS_WRAPS_H_
#define REPRISE_CONFORMANCE_FAKE_MUTANTS_WRAPS_H_

#include <cstdint>
#include <functional>
#include <memory>

#include "conformance/fake/testee.h"

namespace reprise::conformance::fake {

struct EditContext {
  const Bed& bed;
  const State& fresh;  // of a new run
  FileStore* files;
};
using Edit = std::function<void(const EditContext&, State*)>;

// A resume: what was loaded, as it lay on the disk.
struct Resumed {
  bool happened = false;
  State loaded;
};
using ResumedRef = std::shared_ptr<Resumed>;

// Changes what a load gives.
Customise EditLoaded(Edit edit);
// Changes what a save writes.
Customise EditSaved(Edit edit);
// Changes the live state once, at `point` of the first step after a resume.
Customise EditAtFirst(v1::Point point, Edit edit);

// Replaces a part from the resume on: `make` gets the right part, which it may
// keep, and a record of the resume, which it asks at each call.
template <typename Part>
using Wrap = std::function<std::unique_ptr<Part>(
    std::unique_ptr<Part> right, ResumedRef resumed, const Bed& bed)>;
Customise WrapSampler(Wrap<Sampler> make);
Customise WrapModel(Wrap<Model> make);
Customise WrapOptimizer(Wrap<Optimizer> make);
Customise WrapScaler(Wrap<Scaler> make);
Customise WrapSchedule(Wrap<Schedule> make);
Customise WrapStop(Wrap<StopRule> make);

// Both, in this order.
Customise Both(Customise first, Customise second);

// Forwards everything: base of faulty stores.
class ForwardingStore : public Store {
 public:
  explicit ForwardingStore(std::unique_ptr<Store> store)
      : store_(std::move(store)) {}
  absl::StatusOr<std::optional<Loaded>> Load() override {
    return store_->Load();
  }
  absl::Status ResumeFrom(const State& state) override {
    return store_->ResumeFrom(state);
  }
  absl::Status Commit(const State& state, SaveWatch* watch) override {
    return store_->Commit(state, watch);
  }
  std::string Newest() override { return store_->Newest(); }
  std::string At(uint64_t step) override { return store_->At(step); }
  std::vector<std::string> PassedOver() override {
    return store_->PassedOver();
  }

 protected:
  Store* store() { return store_.get(); }

 private:
  std::unique_ptr<Store> store_;
};

}  // namespace reprise::conformance::fake

#endif  // REPRISE_CONFORMANCE_FAKE_MUTANTS_WRAPS_H_
