#include "format/v1/wire_scan.h"

#include <cstdint>
#include <set>
#include <string>

#include "absl/strings/str_cat.h"
#include "format/refusal.h"
#include "format/utf8.h"
#include "format/v1/limits.h"

namespace reprise {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::FieldDescriptor;

enum WireType {
  kVarint = 0,
  kFixed64 = 1,
  kLengthDelimited = 2,
  kFixed32 = 5,
};

bool IsLengthDelimited(const FieldDescriptor* field) {
  return field->cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE ||
         field->cpp_type() == FieldDescriptor::CPPTYPE_STRING;
}

// Wire type of one value of a field that is a number.
WireType NumberWireType(const FieldDescriptor* field) {
  switch (field->type()) {
    case FieldDescriptor::TYPE_DOUBLE:
    case FieldDescriptor::TYPE_FIXED64:
    case FieldDescriptor::TYPE_SFIXED64:
      return kFixed64;
    case FieldDescriptor::TYPE_FLOAT:
    case FieldDescriptor::TYPE_FIXED32:
    case FieldDescriptor::TYPE_SFIXED32:
      return kFixed32;
    default:
      return kVarint;
  }
}

class Scanner {
 public:
  Scanner(absl::string_view bytes, UnknownFields unknown_fields,
          const WireLimits& limits)
      : bytes_(bytes), unknown_fields_(unknown_fields), limits_(limits) {}

  absl::Status Message(const Descriptor* type, size_t end, int depth) {
    if (depth > limits_.depth) {
      return Refuse(Refusal::LIMIT, absl::StrCat("messages nested deeper than ",
                                                 limits_.depth));
    }
    std::set<int> seen;
    uint64_t numbers = 0;  // elements of repeated numbers in this message
    while (position_ < end) {
      uint64_t tag;
      absl::Status status = Varint(end, &tag);
      if (!status.ok()) return status;
      const uint64_t number = tag >> 3;
      const int wire_type = static_cast<int>(tag & 7);
      if (number == 0 || number > 0x1fffffff) {
        return Refuse(Refusal::CORRUPT,
                      absl::StrCat("field number ", number, " is impossible"));
      }
      if (wire_type != kVarint && wire_type != kFixed64 &&
          wire_type != kLengthDelimited && wire_type != kFixed32) {
        return Refuse(Refusal::CORRUPT,
                      absl::StrCat("wire type ", wire_type, " is not used"));
      }
      const FieldDescriptor* field =
          type->FindFieldByNumber(static_cast<int>(number));
      if (field == nullptr) {
        status = Unknown(type, number, wire_type, end);
      } else if (!field->is_repeated() &&
                 !seen.insert(static_cast<int>(number)).second) {
        return Refuse(Refusal::CORRUPT,
                      absl::StrCat(field->full_name(), " comes twice"));
      } else {
        status = Known(field, wire_type, end, depth, &numbers);
      }
      if (!status.ok()) return status;
    }
    return absl::OkStatus();
  }

 private:
  absl::Status Refuse(Refusal refusal, absl::string_view what) const {
    return MakeRefusal(refusal,
                       absl::StrCat("manifest offset ", position_, ": ", what));
  }

  absl::Status Varint(size_t end, uint64_t* value) {
    *value = 0;
    for (int shift = 0; shift < 70; shift += 7) {
      if (position_ == end) {
        return Refuse(Refusal::CORRUPT, "a number is cut off");
      }
      const uint64_t byte = static_cast<unsigned char>(bytes_[position_++]);
      if (shift < 64) *value |= (byte & 0x7f) << shift;
      if (byte < 0x80) return absl::OkStatus();
    }
    return Refuse(Refusal::CORRUPT, "a number is longer than ten bytes");
  }

  absl::Status Skip(size_t end, uint64_t size) {
    if (size > end - position_) {
      return Refuse(Refusal::CORRUPT,
                    absl::StrCat("expected ", size, " more bytes, found ",
                                 end - position_));
    }
    position_ += size;
    return absl::OkStatus();
  }

  absl::Status SkipNumber(int wire_type, size_t end) {
    uint64_t ignored;
    switch (wire_type) {
      case kVarint:
        return Varint(end, &ignored);
      case kFixed64:
        return Skip(end, 8);
      default:
        return Skip(end, 4);
    }
  }

  absl::Status CountElement() {
    if (++elements_ > limits_.elements) {
      return Refuse(Refusal::LIMIT, absl::StrCat("more than ", limits_.elements,
                                                 " elements in one manifest"));
    }
    return absl::OkStatus();
  }

  absl::Status CountNumber(const FieldDescriptor* field, uint64_t* numbers) {
    if (!field->is_repeated()) return absl::OkStatus();
    if (limits_.numbers > 0) {
      if (++numbers_ <= limits_.numbers) return absl::OkStatus();
      return Refuse(Refusal::LIMIT, absl::StrCat("more than ", limits_.numbers,
                                                 " numbers in one manifest"));
    }
    if (++*numbers > limits_.numbers_of_a_message) {
      return Refuse(Refusal::LIMIT,
                    absl::StrCat("more than ", limits_.numbers_of_a_message,
                                 " values of ", field->full_name()));
    }
    return absl::OkStatus();
  }

  absl::Status Unknown(const Descriptor* type, uint64_t number, int wire_type,
                       size_t end) {
    if (unknown_fields_ == UnknownFields::kRefuse) {
      return Refuse(Refusal::CORRUPT,
                    absl::StrCat("field ", number, " is not one of ",
                                 type->full_name(), " in this version"));
    }
    absl::Status status = CountElement();
    if (!status.ok()) return status;
    if (wire_type == kLengthDelimited) {
      uint64_t size;
      status = Varint(end, &size);
      return status.ok() ? Skip(end, size) : status;
    }
    return SkipNumber(wire_type, end);
  }

  absl::Status Known(const FieldDescriptor* field, int wire_type, size_t end,
                     int depth, uint64_t* numbers) {
    const bool packed = !IsLengthDelimited(field) && field->is_repeated() &&
                        wire_type == kLengthDelimited;
    const int expected = IsLengthDelimited(field) || packed
                             ? kLengthDelimited
                             : NumberWireType(field);
    if (wire_type != expected) {
      return Refuse(Refusal::CORRUPT,
                    absl::StrCat(field->full_name(), ": expected wire type ",
                                 expected, ", found ", wire_type));
    }
    if (expected != kLengthDelimited) {
      absl::Status status = CountNumber(field, numbers);
      return status.ok() ? SkipNumber(wire_type, end) : status;
    }

    uint64_t size;
    absl::Status status = Varint(end, &size);
    if (!status.ok()) return status;
    if (size > end - position_) {
      return Refuse(Refusal::CORRUPT, absl::StrCat(field->full_name(), ": ",
                                                   size, " bytes announced, ",
                                                   end - position_, " left"));
    }
    const size_t field_end = position_ + size;
    if (packed) {
      while (position_ < field_end) {
        status = CountNumber(field, numbers);
        if (status.ok()) status = SkipNumber(NumberWireType(field), field_end);
        if (!status.ok()) return status;
      }
      return absl::OkStatus();
    }
    if (field->is_repeated() || field->message_type() != nullptr) {
      status = CountElement();
      if (!status.ok()) return status;
    }
    if (field->message_type() != nullptr) {
      return Message(field->message_type(), field_end, depth + 1);
    }
    if (field->type() == FieldDescriptor::TYPE_STRING &&
        !IsUtf8(bytes_.substr(position_, size))) {
      return Refuse(Refusal::CORRUPT,
                    absl::StrCat(field->full_name(), " is not UTF-8"));
    }
    position_ = field_end;
    return absl::OkStatus();
  }

  const absl::string_view bytes_;
  const UnknownFields unknown_fields_;
  const WireLimits limits_;
  size_t position_ = 0;
  uint64_t elements_ = 0;
  uint64_t numbers_ = 0;
};

}  // namespace

absl::Status ScanWire(absl::string_view bytes, const Descriptor* type,
                      UnknownFields unknown_fields, const WireLimits& limits) {
  return Scanner(bytes, unknown_fields, limits).Message(type, bytes.size(), 0);
}

}  // namespace reprise
