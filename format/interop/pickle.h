// Python values as pickles hold them, read without executing anything.
//
// A pickle is a program for a stack machine. The reader runs only the
// operations that build plain values; a call is answered by the PickleHost,
// which knows the few names that it accepts. Everything else is refused by name
// and offset.
//
// Example (a test as well):
//
//   reprise::PickleHost plain;  // accepts OrderedDict and Counter, no objects
//   auto document = reprise::ReadPickle(bytes, &plain);
//   if (!document.ok()) return document.status();
//   const reprise::PyValue* step = document->root->Get("step");
//   if (step != nullptr && step->kind == reprise::PyValue::Kind::kInt) { ... }
//
// Bounded: at most 16 MiB of pickle and 1,000,000 values; memory is at most
// some hundred bytes a value. Values may contain themselves: who walks them
// counts the depth. Thread-compatible.
#ifndef REPRISE_FORMAT_INTEROP_PICKLE_H_
#define REPRISE_FORMAT_INTEROP_PICKLE_H_

#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace reprise {

struct PyValue {
  enum class Kind {
    kNone,
    kBool,
    kInt,   // fits int64
    kUInt,  // above int64, fits uint64
    kReal,
    kText,  // UTF-8
    kBytes,
    kList,  // and sets
    kTuple,
    kDict,    // insertion order; also OrderedDict and Counter
    kGlobal,  // a name that the host accepts: "module name"
    kObject,  // what the host made of a call or a persistent id
  };
  Kind kind = Kind::kNone;
  bool boolean = false;
  int64_t integer = 0;
  uint64_t unsigned_integer = 0;
  double real = 0;
  std::string text;  // kText, kBytes, kGlobal
  std::vector<const PyValue*> items;
  std::vector<std::pair<const PyValue*, const PyValue*>> entries;
  std::shared_ptr<const void> object;
  int object_type = 0;  // the host's number for what `object` is

  // The entry of a kDict under a text key; null when there is none or this is
  // no dict.
  const PyValue* Get(absl::string_view key) const;
  // kBool, kInt, kUInt or kReal as a number; false for others.
  bool AsReal(double* value) const;
  // A non-negative kInt or kUInt, or a kReal that is one exactly.
  bool AsCount(uint64_t* value) const;
};

// "an int", "a list", "torch.FloatStorage", ... for messages.
std::string Describe(const PyValue& value);

// Owns all values of one pickle.
struct PyDocument {
  std::deque<PyValue> values;
  const PyValue* root = nullptr;
};

// Answers what a pickle asks for beyond plain values. The base accepts
// collections.OrderedDict, collections.Counter, collections.defaultdict of
// nothing and builtins.set.
class PickleHost {
 public:
  virtual ~PickleHost() = default;
  // Whether a pickle may name `module.name`.
  virtual bool Accepts(absl::string_view global) const;
  // global(*arguments) into `result`, which is kNone. Error: what the arguments
  // should have been.
  virtual absl::Status Call(absl::string_view global, const PyValue& arguments,
                            PyValue* result);
  // The object of a persistent id.
  virtual absl::Status Persistent(const PyValue& id, PyValue* result);
};

// Errors name the byte offset. TRUNCATED, CORRUPT, LIMIT; UNIMPLEMENTED for
// names and operations that are not read on purpose.
absl::StatusOr<PyDocument> ReadPickle(absl::string_view bytes,
                                      PickleHost* host);

}  // namespace reprise

#endif  // REPRISE_FORMAT_INTEROP_PICKLE_H_
