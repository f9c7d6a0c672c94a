#include "conformance/fake/mutants/wraps.h"

namespace reprise::conformance::fake {
namespace {

// Notes the resume in a Resumed.
class NotingStore : public ForwardingStore {
 public:
  NotingStore(std::unique_ptr<Store> store, ResumedRef resumed)
      : ForwardingStore(std::move(store)), resumed_(std::move(resumed)) {}

  absl::StatusOr<std::optional<Loaded>> Load() override {
    auto loaded = store()->Load();
    if (loaded.ok() && loaded->has_value()) {
      resumed_->happened = true;
      resumed_->loaded = (*loaded)->state;
    }
    return loaded;
  }

 private:
  const ResumedRef resumed_;
};

ResumedRef NoteResume(const Assembly& assembly) {
  auto resumed = std::make_shared<Resumed>();
  *assembly.store =
      std::make_unique<NotingStore>(std::move(*assembly.store), resumed);
  return resumed;
}

class EditingStore : public ForwardingStore {
 public:
  EditingStore(std::unique_ptr<Store> store, const Bed& bed, FileStore* files,
               Edit loaded, Edit saved)
      : ForwardingStore(std::move(store)),
        bed_(bed),
        fresh_(InitialState(bed)),
        files_(files),
        loaded_(std::move(loaded)),
        saved_(std::move(saved)) {}

  absl::StatusOr<std::optional<Loaded>> Load() override {
    auto loaded = store()->Load();
    if (loaded_ && loaded.ok() && loaded->has_value()) {
      loaded_({bed_, fresh_, files_}, &(*loaded)->state);
    }
    return loaded;
  }

  absl::Status Commit(const State& state, SaveWatch* watch) override {
    if (!saved_) return store()->Commit(state, watch);
    State edited = state;
    saved_({bed_, fresh_, files_}, &edited);
    return store()->Commit(edited, watch);
  }

 private:
  const Bed bed_;
  const State fresh_;
  FileStore* const files_;
  const Edit loaded_, saved_;
};

class EditingObserver : public Observer {
 public:
  EditingObserver(const Assembly& assembly, ResumedRef resumed, v1::Point point,
                  Edit edit)
      : bed_(assembly.bed),
        fresh_(InitialState(assembly.bed)),
        files_(assembly.files),
        resumed_(std::move(resumed)),
        point_(point),
        edit_(std::move(edit)) {}

  void At(const Place& place, State* state) override {
    if (!resumed_->happened || done_ || place.point != point_) return;
    done_ = true;
    edit_({bed_, fresh_, files_}, state);
  }

 private:
  const Bed bed_;
  const State fresh_;
  FileStore* const files_;
  const ResumedRef resumed_;
  const v1::Point point_;
  const Edit edit_;
  bool done_ = false;
};

template <typename Part>
Customise WrapPart(std::unique_ptr<Part> Parts::*part, Wrap<Part> make) {
  return [=](const Assembly& assembly) {
    ResumedRef resumed = NoteResume(assembly);
    std::unique_ptr<Part>& slot = assembly.parts->*part;
    slot = make(std::move(slot), resumed, assembly.bed);
  };
}

}  // namespace

Customise EditLoaded(Edit edit) {
  return [=](const Assembly& assembly) {
    *assembly.store =
        std::make_unique<EditingStore>(std::move(*assembly.store), assembly.bed,
                                       assembly.files, edit, nullptr);
  };
}

Customise EditSaved(Edit edit) {
  return [=](const Assembly& assembly) {
    *assembly.store =
        std::make_unique<EditingStore>(std::move(*assembly.store), assembly.bed,
                                       assembly.files, nullptr, edit);
  };
}

Customise EditAtFirst(v1::Point point, Edit edit) {
  return [=](const Assembly& assembly) {
    ResumedRef resumed = NoteResume(assembly);
    assembly.parts->observers.push_back(
        std::make_unique<EditingObserver>(assembly, resumed, point, edit));
  };
}

Customise WrapSampler(Wrap<Sampler> make) {
  return WrapPart(&Parts::sampler, std::move(make));
}
Customise WrapModel(Wrap<Model> make) {
  return WrapPart(&Parts::model, std::move(make));
}
Customise WrapOptimizer(Wrap<Optimizer> make) {
  return WrapPart(&Parts::optimizer, std::move(make));
}
Customise WrapScaler(Wrap<Scaler> make) {
  return WrapPart(&Parts::scaler, std::move(make));
}
Customise WrapSchedule(Wrap<Schedule> make) {
  return WrapPart(&Parts::schedule, std::move(make));
}
Customise WrapStop(Wrap<StopRule> make) {
  return WrapPart(&Parts::stop, std::move(make));
}

Customise Both(Customise first, Customise second) {
  return [=](const Assembly& assembly) {
    first(assembly);
    second(assembly);
  };
}

}  // namespace reprise::conformance::fake
