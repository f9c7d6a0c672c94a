#include "format/v2/items.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "format/refusal.h"
#include "format/v2/problem.h"
#include "google/protobuf/descriptor.h"
#include "reprise/spec/v2/annotations.pb.h"
#include "reprise/spec/v2/tensors.pb.h"

namespace reprise {
namespace {

namespace v2 = ::reprise::checkpoint::v2;
using google::protobuf::EnumValueDescriptor;
using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::Reflection;
using v2_internal::Invalid;
using v2_internal::Missing;

class FieldChecker {
 public:
  explicit FieldChecker(const Snapshot& snapshot) : snapshot_(snapshot) {}

  // `inherited` is the item that the message is a value of, if any; then what
  // is in it must be complete.
  absl::Status Check(const Message& message, Item inherited,
                     const std::string& path) {
    const auto* type = message.GetDescriptor();
    for (int i = 0; i < type->field_count(); ++i) {
      absl::Status status =
          CheckField(message, type->field(i), inherited, path);
      if (!status.ok()) return status;
    }
    return absl::OkStatus();
  }

 private:
  absl::Status CheckField(const Message& message, const FieldDescriptor* field,
                          Item inherited, const std::string& path) {
    const Reflection* reflection = message.GetReflection();
    const Item own = ItemOfField(field);
    const bool has = field->is_repeated()
                         ? reflection->FieldSize(message, field) > 0
                         : reflection->HasField(message, field);
    const std::string field_path =
        absl::StrCat(path, path.empty() ? "" : ".", field->name());
    const bool may_be_absent = field->options().GetExtension(v2::may_be_absent);
    if (own != Item::ITEM_UNSPECIFIED) {
      const bool saved = IsSavedV2(snapshot_, own);
      if (has && !saved) {
        return Invalid(own,
                       absl::StrCat("field ", field_path,
                                    " has a value, but the record says ",
                                    TextOf(snapshot_.Find(own)->presence)));
      }
      if (!has && saved && !may_be_absent) {
        return Missing(own, absl::StrCat("recorded as SAVED, but field ",
                                         field_path, " is absent"));
      }
    } else if (inherited != Item::ITEM_UNSPECIFIED && !has && !may_be_absent &&
               field->real_containing_oneof() == nullptr) {
      return Missing(inherited,
                     absl::StrCat("field ", field_path, " is absent"));
    }
    const Item item = own != Item::ITEM_UNSPECIFIED ? own : inherited;
    if (field->enum_type() != nullptr && has) {
      return CheckEnum(message, field, item, field_path);
    }
    // Lists of names have rules of their own.
    if (field->message_type() == nullptr ||
        field->message_type()->full_name() ==
            v2::Names::descriptor()->full_name()) {
      return absl::OkStatus();
    }
    if (!field->is_repeated()) {
      // An absent container of fields that have items: they are missing.
      if (!has && item != Item::ITEM_UNSPECIFIED) return absl::OkStatus();
      return Check(reflection->GetMessage(message, field), item, field_path);
    }
    for (int i = 0; i < reflection->FieldSize(message, field); ++i) {
      absl::Status status =
          Check(reflection->GetRepeatedMessage(message, field, i), item,
                absl::StrCat(field_path, "[", i, "]"));
      if (!status.ok()) return status;
    }
    return absl::OkStatus();
  }

  // A value that this reader does not know means nothing to it.
  absl::Status CheckEnum(const Message& message, const FieldDescriptor* field,
                         Item item, const std::string& path) {
    const Reflection* reflection = message.GetReflection();
    const int count =
        field->is_repeated() ? reflection->FieldSize(message, field) : 1;
    for (int i = 0; i < count; ++i) {
      const int value =
          field->is_repeated()
              ? reflection->GetRepeatedEnumValue(message, field, i)
              : reflection->GetEnumValue(message, field);
      if (value != 0 &&
          field->enum_type()->FindValueByNumber(value) != nullptr) {
        continue;
      }
      return MakeRefusal(
          Refusal::INVALID_VALUE,
          absl::StrCat(
              item == Item::ITEM_UNSPECIFIED ? "manifest" : TextOf(item),
              ": field ", path, " has the value ", value,
              ", which is not one of ", field->enum_type()->full_name()));
    }
    return absl::OkStatus();
  }

  const Snapshot& snapshot_;
};

absl::Status CheckRecord(const Snapshot& snapshot, const ItemRecord& record) {
  const bool reason_wanted =
      record.presence == Presence::PRESENCE_NOT_APPLICABLE ||
      record.presence == Presence::PRESENCE_OMITTED;
  switch (record.presence) {
    case Presence::PRESENCE_SAVED:
    case Presence::PRESENCE_NOT_APPLICABLE:
    case Presence::PRESENCE_OMITTED:
      break;
    case Presence::PRESENCE_EMPTY:
      if (MayBeEmptyInV2(record.item)) break;
      return Invalid(record.item, "recorded as EMPTY; it always has a value");
    default:
      return Invalid(
          record.item,
          absl::StrCat("presence ", TextOf(record.presence), " is not one"));
  }
  if (reason_wanted && record.reason.empty()) {
    return Missing(record.item,
                   absl::StrCat("recorded as ", TextOf(record.presence),
                                " without a reason"));
  }
  if (!reason_wanted && !record.reason.empty()) {
    return Invalid(record.item,
                   absl::StrCat("recorded as ", TextOf(record.presence),
                                " with a reason"));
  }
  if (record.as_of_step != snapshot.step) {
    return Invalid(record.item,
                   absl::StrCat("as of step ", record.as_of_step,
                                ", the checkpoint is of step ", snapshot.step));
  }
  return absl::OkStatus();
}

}  // namespace

const std::vector<Item>& ItemsOfV2() {
  static const auto* const items = [] {
    auto* all = new std::vector<Item>;
    for (int number = Item::MODEL_PARAMS; number <= Item::WITNESS; ++number) {
      all->push_back(static_cast<Item>(number));
    }
    return all;
  }();
  return *items;
}

bool MayBeEmptyInV2(Item item) {
  switch (item) {
    case Item::OPTIM_MOMENTS:    // before the first applied step
    case Item::OPTIM_STEP:       // the same
    case Item::LOADER_INFLIGHT:  // nothing is drawn ahead
    case Item::ACCUM_GRADS:      // at a boundary
    case Item::EMA_WEIGHTS:      // before the first update
    case Item::BEST:             // before the first evaluation
      return true;
    default:
      return false;
  }
}

bool IsSavedV2(const Snapshot& snapshot, Item item) {
  const ItemRecord* record = snapshot.Find(item);
  return record != nullptr && record->presence == Presence::PRESENCE_SAVED;
}

absl::Status CheckInventoryV2(const Snapshot& snapshot) {
  std::vector<int> records(vocab::Item_MAX + 1, 0);
  for (const ItemRecord& record : snapshot.inventory) {
    if (record.item < Item::MODEL_PARAMS || record.item > Item::WITNESS) {
      return Invalid(record.item, "is no item of version 2");
    }
    if (++records[record.item] > 1) return Invalid(record.item, "two records");
  }
  for (Item item : ItemsOfV2()) {
    if (records[item] == 0) return Missing(item, "there is no record of it");
  }
  for (const ItemRecord& record : snapshot.inventory) {
    absl::Status status = CheckRecord(snapshot, record);
    if (!status.ok()) return status;
  }
  if (!IsSavedV2(snapshot, Item::COUNTERS_STEP)) {
    return Missing(Item::COUNTERS_STEP, "always SAVED");
  }
  return absl::OkStatus();
}

absl::Status CheckFieldsV2(const Message& manifest, const Snapshot& snapshot) {
  return FieldChecker(snapshot).Check(manifest, Item::ITEM_UNSPECIFIED, "");
}

Item ItemOfField(const FieldDescriptor* field) {
  return field->options().HasExtension(v2::item)
             ? field->options().GetExtension(v2::item)
             : Item::ITEM_UNSPECIFIED;
}

}  // namespace reprise
