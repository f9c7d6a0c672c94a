// Little-endian integers in byte strings, on any machine. Thread-safe.
#ifndef REPRISE_FORMAT_LITTLE_ENDIAN_H_
#define REPRISE_FORMAT_LITTLE_ENDIAN_H_

#include <cstddef>
#include <string>

#include "absl/strings/string_view.h"

namespace reprise {

// Appends the sizeof(T) bytes of `value`, lowest first. T is unsigned.
template <typename T>
void AppendLittleEndian(T value, std::string* out) {
  for (size_t i = 0; i < sizeof(T); ++i) {
    out->push_back(static_cast<char>((value >> (8 * i)) & 0xff));
  }
}

// The T at `offset`. REQUIRES: offset + sizeof(T) <= bytes.size().
template <typename T>
T LoadLittleEndian(absl::string_view bytes, size_t offset) {
  T value = 0;
  for (size_t i = 0; i < sizeof(T); ++i) {
    value |= static_cast<T>(static_cast<unsigned char>(bytes[offset + i]))
             << (8 * i);
  }
  return value;
}

}  // namespace reprise

#endif  // REPRISE_FORMAT_LITTLE_ENDIAN_H_
