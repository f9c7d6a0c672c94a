// Operations and their arguments: Python's Lib/pickletools.py.
#include "format/interop/pickle.h"

#include <cmath>
#include <cstring>
#include <optional>
#include <unordered_map>

#include "absl/strings/str_cat.h"
#include "format/little_endian.h"
#include "format/refusal.h"
#include "format/utf8.h"

namespace reprise {
namespace {

using Kind = PyValue::Kind;

constexpr size_t kMaxBytes = size_t{16} << 20;
constexpr size_t kMaxValues = 1000000;

constexpr absl::string_view kOrderedDict = "collections.OrderedDict";
constexpr absl::string_view kCounter = "collections.Counter";
constexpr absl::string_view kDefaultDict = "collections.defaultdict";

// Protocol 2 says __builtin__ where Python 3 says builtins.
bool IsSet(absl::string_view global) {
  return global == "builtins.set" || global == "__builtin__.set";
}

class Machine {
 public:
  Machine(absl::string_view bytes, PickleHost* host)
      : bytes_(bytes), host_(host) {}

  absl::StatusOr<PyDocument> Run() {
    if (bytes_.size() > kMaxBytes) {
      return MakeRefusal(Refusal::LIMIT,
                         absl::StrCat("a pickle of ", bytes_.size(),
                                      " bytes; the limit is ", kMaxBytes));
    }
    while (!stopped_) {
      at_ = next_;
      absl::string_view opcode;
      absl::Status status = Take(1, &opcode);
      if (status.ok()) status = Step(static_cast<unsigned char>(opcode[0]));
      if (!status.ok()) {
        return Annotate(status, absl::StrCat("pickle, offset ", at_));
      }
    }
    return std::move(document_);
  }

 private:
  absl::Status Corrupt(absl::string_view message) const {
    return MakeRefusal(Refusal::CORRUPT, message);
  }

  absl::Status Take(uint64_t size, absl::string_view* out) {
    if (size > bytes_.size() - next_) {
      return MakeRefusal(Refusal::TRUNCATED,
                         absl::StrCat("expected ", size, " more bytes, found ",
                                      bytes_.size() - next_));
    }
    *out = bytes_.substr(next_, size);
    next_ += size;
    return absl::OkStatus();
  }

  template <typename T>
  absl::Status TakeNumber(T* out) {
    absl::string_view bytes;
    absl::Status status = Take(sizeof(T), &bytes);
    if (status.ok()) *out = LoadLittleEndian<T>(bytes, 0);
    return status;
  }

  // Bytes behind a length of type T.
  template <typename T>
  absl::Status TakeCounted(absl::string_view* out) {
    T size = 0;
    absl::Status status = TakeNumber(&size);
    return status.ok() ? Take(size, out) : status;
  }

  absl::Status TakeLine(absl::string_view* out) {
    const size_t end = bytes_.find('\n', next_);
    if (end == absl::string_view::npos) {
      return MakeRefusal(Refusal::TRUNCATED, "a line does not end");
    }
    *out = bytes_.substr(next_, end - next_);
    next_ = end + 1;
    return absl::OkStatus();
  }

  absl::StatusOr<PyValue*> New(Kind kind) {
    if (document_.values.size() >= kMaxValues) {
      return MakeRefusal(Refusal::LIMIT,
                         absl::StrCat("more than ", kMaxValues, " values"));
    }
    document_.values.emplace_back();
    document_.values.back().kind = kind;
    return &document_.values.back();
  }

  // Pushes a new value that `fill` completes.
  template <typename F>
  absl::Status Push(Kind kind, F fill) {
    absl::StatusOr<PyValue*> value = New(kind);
    if (!value.ok()) return value.status();
    fill(*value);
    stack_.push_back(*value);
    return absl::OkStatus();
  }
  absl::Status Push(Kind kind) {
    return Push(kind, [](PyValue*) {});
  }
  absl::Status PushInt(int64_t integer) {
    return Push(Kind::kInt, [&](PyValue* v) { v->integer = integer; });
  }
  absl::Status PushText(Kind kind, absl::string_view text) {
    if (kind == Kind::kText && !IsUtf8(text)) {
      return Corrupt("a string is not UTF-8");
    }
    return Push(kind, [&](PyValue* v) { v->text = std::string(text); });
  }

  // Values above the last mark; the mark goes.
  absl::StatusOr<std::vector<PyValue*>> TakeToMark() {
    if (marks_.empty()) return Corrupt("no mark on the stack");
    const size_t begin = marks_.back();
    marks_.pop_back();
    std::vector<PyValue*> taken(stack_.begin() + begin, stack_.end());
    stack_.resize(begin);
    return taken;
  }

  absl::StatusOr<PyValue*> Pop() {
    if (stack_.size() <= (marks_.empty() ? 0 : marks_.back())) {
      return Corrupt("the stack is empty");
    }
    PyValue* value = stack_.back();
    stack_.pop_back();
    return value;
  }

  // The value below what was just taken; it has to be a container of `kind`.
  absl::StatusOr<PyValue*> Container(Kind kind) {
    if (stack_.size() <= (marks_.empty() ? 0 : marks_.back()) ||
        stack_.back()->kind != kind) {
      return Corrupt(kind == Kind::kDict ? "no dict on the stack"
                                         : "no list on the stack");
    }
    return stack_.back();
  }

  absl::Status PushTuple(size_t size) {
    std::vector<const PyValue*> items(size);
    for (size_t i = size; i-- > 0;) {
      absl::StatusOr<PyValue*> value = Pop();
      if (!value.ok()) return value.status();
      items[i] = *value;
    }
    return Push(Kind::kTuple, [&](PyValue* v) { v->items = std::move(items); });
  }

  absl::Status Append(size_t size, bool to_mark) {
    std::vector<PyValue*> items;
    if (to_mark) {
      absl::StatusOr<std::vector<PyValue*>> taken = TakeToMark();
      if (!taken.ok()) return taken.status();
      items = *std::move(taken);
    } else {
      absl::StatusOr<PyValue*> value = Pop();
      if (!value.ok()) return value.status();
      items = {*value};
    }
    absl::StatusOr<PyValue*> list = Container(Kind::kList);
    if (!list.ok()) return list.status();
    (*list)->items.insert((*list)->items.end(), items.begin(), items.end());
    return absl::OkStatus();
  }

  absl::Status SetItems(std::vector<PyValue*> items) {
    if (items.size() % 2 != 0) return Corrupt("a key without a value");
    absl::StatusOr<PyValue*> dict = Container(Kind::kDict);
    if (!dict.ok()) return dict.status();
    for (size_t i = 0; i < items.size(); i += 2) {
      (*dict)->entries.emplace_back(items[i], items[i + 1]);
    }
    return absl::OkStatus();
  }

  absl::Status PushGlobal(absl::string_view module, absl::string_view name) {
    const std::string global = absl::StrCat(module, ".", name);
    if (!host_->Accepts(global)) {
      return absl::UnimplementedError(absl::StrCat(
          "the file names ", global,
          ", which is not among what a checkpoint needs; nothing was executed. "
          "Save tensors, dicts, lists, numbers and strings only"));
    }
    return PushText(Kind::kGlobal, global);
  }

  absl::Status Reduce() {
    absl::StatusOr<PyValue*> arguments = Pop();
    if (!arguments.ok()) return arguments.status();
    absl::StatusOr<PyValue*> global = Pop();
    if (!global.ok()) return global.status();
    if ((*global)->kind != Kind::kGlobal ||
        (*arguments)->kind != Kind::kTuple) {
      return Corrupt("a call of something that is no name");
    }
    absl::StatusOr<PyValue*> result = New(Kind::kNone);
    if (!result.ok()) return result.status();
    absl::Status status = host_->Call((*global)->text, **arguments, *result);
    if (!status.ok()) return Annotate(status, (*global)->text);
    // A call may copy what it is given, and a few bytes may ask for many.
    copied_ += (*result)->items.size() + (*result)->entries.size();
    if (copied_ > kMaxValues) {
      return MakeRefusal(Refusal::LIMIT, absl::StrCat("calls copy more than ",
                                                      kMaxValues, " values"));
    }
    stack_.push_back(*result);
    return absl::OkStatus();
  }

  // State that is set on an object: OrderedDict's attributes (_metadata), which
  // are no part of its contents.
  absl::Status Build() {
    absl::StatusOr<PyValue*> state = Pop();
    if (!state.ok()) return state.status();
    absl::StatusOr<PyValue*> object = Pop();
    if (!object.ok()) return object.status();
    if ((*object)->kind != Kind::kDict || (*state)->kind != Kind::kDict) {
      return absl::UnimplementedError(
          absl::StrCat("attributes are set on ", Describe(**object),
                       "; only an OrderedDict may have some"));
    }
    stack_.push_back(*object);
    return absl::OkStatus();
  }

  absl::Status Memoize(uint32_t index) {
    absl::StatusOr<PyValue*> value = Pop();
    if (!value.ok()) return value.status();
    stack_.push_back(*value);
    memo_[index] = *value;
    return absl::OkStatus();
  }

  absl::Status Recall(uint32_t index) {
    auto found = memo_.find(index);
    if (found == memo_.end()) {
      return Corrupt(absl::StrCat("nothing was remembered as ", index));
    }
    stack_.push_back(found->second);
    return absl::OkStatus();
  }

  absl::Status PushLong(absl::string_view bytes) {
    uint64_t low = 0;
    const bool negative =
        !bytes.empty() &&
        (static_cast<unsigned char>(bytes.back()) & 0x80) != 0;
    for (size_t i = 0; i < bytes.size(); ++i) {
      const uint64_t byte = static_cast<unsigned char>(bytes[i]);
      if (i < 8) {
        low |= byte << (8 * i);
      } else if (byte != (negative ? 0xff : 0)) {
        return absl::UnimplementedError("an integer of more than 64 bits");
      }
    }
    if (bytes.size() < 8 && negative) low |= ~uint64_t{0} << (8 * bytes.size());
    const bool fits = negative ? (low >> 63) == 1 : (low >> 63) == 0;
    if (fits) return PushInt(static_cast<int64_t>(low));
    if (negative) {
      return absl::UnimplementedError("an integer of more than 64 bits");
    }
    return Push(Kind::kUInt, [&](PyValue* v) { v->unsigned_integer = low; });
  }

  absl::Status StackGlobal() {
    absl::StatusOr<PyValue*> name = Pop();
    if (!name.ok()) return name.status();
    absl::StatusOr<PyValue*> module = Pop();
    if (!module.ok()) return module.status();
    if ((*name)->kind != Kind::kText || (*module)->kind != Kind::kText) {
      return Corrupt("a name that is no string");
    }
    return PushGlobal((*module)->text, (*name)->text);
  }

  absl::Status Finish() {
    absl::StatusOr<PyValue*> root = Pop();
    if (!root.ok()) return root.status();
    if (!stack_.empty() || !marks_.empty()) {
      return Corrupt("the pickle ends with values left over");
    }
    document_.root = *root;
    stopped_ = true;
    return absl::OkStatus();
  }

  absl::Status Step(unsigned char opcode);

  absl::string_view bytes_;
  PickleHost* host_;
  size_t at_ = 0;    // of the operation in hand
  size_t next_ = 0;  // of the next byte
  bool stopped_ = false;
  size_t copied_ = 0;
  PyDocument document_;
  std::vector<PyValue*> stack_;
  std::vector<size_t> marks_;
  std::unordered_map<uint32_t, PyValue*> memo_;
};

absl::Status Machine::Step(unsigned char opcode) {
  absl::string_view text, second;
  absl::Status status;
  switch (opcode) {
    case 0x80: {  // PROTO
      if (status = Take(1, &text); !status.ok()) return status;
      const int protocol = text[0];
      if (protocol < 2 || protocol > 5) {
        return absl::UnimplementedError(
            absl::StrCat("pickle protocol ", protocol, "; 2 to 5 are read"));
      }
      return absl::OkStatus();
    }
    case 0x95:  // FRAME: a hint for reading ahead
      return Take(8, &text);
    case '.':
      return Finish();
    case '(':
      marks_.push_back(stack_.size());
      return absl::OkStatus();
    case '1':  // POP_MARK
      return TakeToMark().status();
    case '0':  // POP
      return Pop().status();

    case 'N':
      return Push(Kind::kNone);
    case 0x88:
    case 0x89:
      return Push(Kind::kBool,
                  [&](PyValue* v) { v->boolean = opcode == 0x88; });
    case 'J': {
      uint32_t number = 0;
      if (status = TakeNumber(&number); !status.ok()) return status;
      return PushInt(static_cast<int32_t>(number));
    }
    case 'K': {
      uint8_t number = 0;
      if (status = TakeNumber(&number); !status.ok()) return status;
      return PushInt(number);
    }
    case 'M': {
      uint16_t number = 0;
      if (status = TakeNumber(&number); !status.ok()) return status;
      return PushInt(number);
    }
    case 0x8a:  // LONG1
      status = TakeCounted<uint8_t>(&text);
      return status.ok() ? PushLong(text) : status;
    case 'G': {  // BINFLOAT, big-endian
      if (status = Take(8, &text); !status.ok()) return status;
      uint64_t bits = 0;
      for (char c : text) bits = bits << 8 | static_cast<unsigned char>(c);
      double real = 0;
      std::memcpy(&real, &bits, sizeof(real));
      return Push(Kind::kReal, [&](PyValue* v) { v->real = real; });
    }

    case 'X':
      status = TakeCounted<uint32_t>(&text);
      return status.ok() ? PushText(Kind::kText, text) : status;
    case 0x8c:
      status = TakeCounted<uint8_t>(&text);
      return status.ok() ? PushText(Kind::kText, text) : status;
    case 0x8d:
      status = TakeCounted<uint64_t>(&text);
      return status.ok() ? PushText(Kind::kText, text) : status;
    case 'U':
    case 'C':
      status = TakeCounted<uint8_t>(&text);
      return status.ok() ? PushText(Kind::kBytes, text) : status;
    case 'T':
    case 'B':
      status = TakeCounted<uint32_t>(&text);
      return status.ok() ? PushText(Kind::kBytes, text) : status;
    case 0x8e:
      status = TakeCounted<uint64_t>(&text);
      return status.ok() ? PushText(Kind::kBytes, text) : status;

    case ']':
    case 0x8f:  // EMPTY_SET
      return Push(Kind::kList);
    case '}':
      return Push(Kind::kDict);
    case ')':
      return PushTuple(0);
    case 0x85:
      return PushTuple(1);
    case 0x86:
      return PushTuple(2);
    case 0x87:
      return PushTuple(3);
    case 't': {
      absl::StatusOr<std::vector<PyValue*>> items = TakeToMark();
      if (!items.ok()) return items.status();
      return Push(Kind::kTuple, [&](PyValue* v) {
        v->items.assign(items->begin(), items->end());
      });
    }
    case 'a':
      return Append(1, /*to_mark=*/false);
    case 'e':
    case 0x90:  // ADDITEMS
      return Append(0, /*to_mark=*/true);
    case 's': {
      absl::StatusOr<PyValue*> value = Pop();
      if (!value.ok()) return value.status();
      absl::StatusOr<PyValue*> key = Pop();
      if (!key.ok()) return key.status();
      return SetItems({*key, *value});
    }
    case 'u': {
      absl::StatusOr<std::vector<PyValue*>> items = TakeToMark();
      return items.ok() ? SetItems(*std::move(items)) : items.status();
    }

    case 'q': {
      uint8_t index = 0;
      status = TakeNumber(&index);
      return status.ok() ? Memoize(index) : status;
    }
    case 'r': {
      uint32_t index = 0;
      status = TakeNumber(&index);
      return status.ok() ? Memoize(index) : status;
    }
    case 0x94:
      return Memoize(static_cast<uint32_t>(memo_.size()));
    case 'h': {
      uint8_t index = 0;
      status = TakeNumber(&index);
      return status.ok() ? Recall(index) : status;
    }
    case 'j': {
      uint32_t index = 0;
      status = TakeNumber(&index);
      return status.ok() ? Recall(index) : status;
    }

    case 'c':
      status = TakeLine(&text);
      if (status.ok()) status = TakeLine(&second);
      return status.ok() ? PushGlobal(text, second) : status;
    case 0x93:
      return StackGlobal();
    case 'R':
      return Reduce();
    case 'b':
      return Build();
    case 'Q': {  // BINPERSID
      absl::StatusOr<PyValue*> id = Pop();
      if (!id.ok()) return id.status();
      absl::StatusOr<PyValue*> result = New(Kind::kNone);
      if (!result.ok()) return result.status();
      if (status = host_->Persistent(**id, *result); !status.ok()) {
        return status;
      }
      stack_.push_back(*result);
      return absl::OkStatus();
    }
    default:
      return absl::UnimplementedError(absl::StrCat(
          "operation 0x", absl::Hex(opcode, absl::kZeroPad2),
          " is not among what a checkpoint needs; nothing was executed"));
  }
}

}  // namespace

const PyValue* PyValue::Get(absl::string_view key) const {
  const PyValue* found = nullptr;
  // As in Python, a later entry replaces an earlier one.
  for (const auto& [name, value] : entries) {
    if (name->kind == Kind::kText && name->text == key) found = value;
  }
  return found;
}

bool PyValue::AsReal(double* value) const {
  switch (kind) {
    case Kind::kBool:
      *value = boolean;
      return true;
    case Kind::kInt:
      *value = static_cast<double>(integer);
      return true;
    case Kind::kUInt:
      *value = static_cast<double>(unsigned_integer);
      return true;
    case Kind::kReal:
      *value = real;
      return true;
    default:
      return false;
  }
}

bool PyValue::AsCount(uint64_t* value) const {
  if (kind == Kind::kInt && integer >= 0) {
    *value = static_cast<uint64_t>(integer);
    return true;
  }
  if (kind == Kind::kUInt) {
    *value = unsigned_integer;
    return true;
  }
  if (kind == Kind::kReal && real >= 0 && real < 0x1p53 &&
      std::floor(real) == real) {
    *value = static_cast<uint64_t>(real);
    return true;
  }
  return false;
}

std::string Describe(const PyValue& value) {
  switch (value.kind) {
    case Kind::kNone:
      return "None";
    case Kind::kBool:
      return "a bool";
    case Kind::kInt:
    case Kind::kUInt:
      return "an int";
    case Kind::kReal:
      return "a float";
    case Kind::kText:
      return "a string";
    case Kind::kBytes:
      return "bytes";
    case Kind::kList:
      return "a list";
    case Kind::kTuple:
      return "a tuple";
    case Kind::kDict:
      return "a dict";
    case Kind::kGlobal:
      return value.text;
    case Kind::kObject:
      return "a tensor";
  }
  return "something unknown";
}

bool PickleHost::Accepts(absl::string_view global) const {
  return global == kOrderedDict || global == kCounter ||
         global == kDefaultDict || IsSet(global);
}

absl::Status PickleHost::Call(absl::string_view global,
                              const PyValue& arguments, PyValue* result) {
  if (IsSet(global)) {
    result->kind = Kind::kList;
    if (arguments.items.size() == 1 &&
        arguments.items[0]->kind == Kind::kList) {
      result->items = arguments.items[0]->items;
      return absl::OkStatus();
    }
    if (arguments.items.empty()) return absl::OkStatus();
    return absl::UnimplementedError("expected a list of what is in the set");
  }
  result->kind = Kind::kDict;
  if (arguments.items.empty() ||
      (global == kDefaultDict && arguments.items.size() == 1)) {
    return absl::OkStatus();
  }
  if (arguments.items.size() != 1) {
    return absl::UnimplementedError("expected at most one argument");
  }
  const PyValue& contents = *arguments.items[0];
  if (contents.kind == Kind::kDict) {
    result->entries = contents.entries;
    return absl::OkStatus();
  }
  if (contents.kind != Kind::kList) {
    return absl::UnimplementedError(
        absl::StrCat("expected its entries, found ", Describe(contents)));
  }
  for (const PyValue* pair : contents.items) {
    if (pair->items.size() != 2) {
      return absl::UnimplementedError("expected pairs of key and value");
    }
    result->entries.emplace_back(pair->items[0], pair->items[1]);
  }
  return absl::OkStatus();
}

absl::Status PickleHost::Persistent(const PyValue& id, PyValue* result) {
  return absl::UnimplementedError(
      "the pickle refers to data beside it (a persistent id)");
}

absl::StatusOr<PyDocument> ReadPickle(absl::string_view bytes,
                                      PickleHost* host) {
  return Machine(bytes, host).Run();
}

}  // namespace reprise
