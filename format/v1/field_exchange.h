// One description of a message's fields for both directions: encoding copies
// values into the message, decoding out of it, and both hold to the rule that a
// field is there exactly when the item it belongs to is SAVED.
//
//   void ExchangeSchedule(FieldExchange* exchange, v1::Schedule* message,
//                         ScheduleState* state) {
//     exchange->Open(message, "schedule");
//     exchange->Field(Item::SCHED_POSITION, "position", &state->position);
//   }
//
// Not thread-safe.
#ifndef REPRISE_FORMAT_V1_FIELD_EXCHANGE_H_
#define REPRISE_FORMAT_V1_FIELD_EXCHANGE_H_

#include <cstdint>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "format/snapshot.h"
#include "google/protobuf/message.h"

namespace reprise {

class FieldExchange {
 public:
  enum class Direction { kEncode, kDecode };

  // `snapshot` has the records of the inventory; it must outlive this object.
  FieldExchange(Direction direction, const Snapshot* snapshot)
      : direction_(direction), snapshot_(snapshot) {}

  // The message that the following calls are about; `path` is for messages.
  void Open(google::protobuf::Message* message, std::string path);

  // A field that is there exactly when `item` is SAVED. A string or an enum of
  // value 0 counts as absent.
  void Field(Item item, const char* name, std::string* value);
  void Field(Item item, const char* name, uint64_t* value);
  void Field(Item item, const char* name, uint32_t* value);
  void Field(Item item, const char* name, double* value);
  void Field(Item item, const char* name, float* value);
  void Field(Item item, const char* name, bool* value);
  void EnumField(Item item, const char* name, int* value);

  // A field that may be absent whatever the records say.
  void Optional(const char* name, std::string* value);
  void Optional(const char* name, std::optional<double>* value);
  void Optional(const char* name, std::optional<float>* value);
  void Optional(const char* name, std::optional<uint64_t>* value);
  void Optional(const char* name, std::optional<bool>* value);

  // The first error: MISSING_ITEM or INVALID_VALUE naming item and field.
  const absl::Status& status() const { return status_; }

 private:
  template <typename T, typename Get, typename Set>
  void Exchange(Item item, const char* name, T* value, Get get, Set set);
  template <typename T, typename Get, typename Set>
  void ExchangeOptional(const char* name, std::optional<T>* value, Get get,
                        Set set);

  const Direction direction_;
  const Snapshot* const snapshot_;
  google::protobuf::Message* message_ = nullptr;
  std::string path_;
  absl::Status status_;
};

}  // namespace reprise

#endif  // REPRISE_FORMAT_V1_FIELD_EXCHANGE_H_
