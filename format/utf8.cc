#include "format/utf8.h"

#include <cstddef>
#include <cstdint>

namespace reprise {

bool IsUtf8(absl::string_view text) {
  size_t i = 0;
  while (i < text.size()) {
    const unsigned char lead = static_cast<unsigned char>(text[i++]);
    if (lead < 0x80) continue;
    int following;
    uint32_t smallest;
    uint32_t point;
    if ((lead & 0xe0) == 0xc0) {
      following = 1, smallest = 0x80, point = lead & 0x1f;
    } else if ((lead & 0xf0) == 0xe0) {
      following = 2, smallest = 0x800, point = lead & 0x0f;
    } else if ((lead & 0xf8) == 0xf0) {
      following = 3, smallest = 0x10000, point = lead & 0x07;
    } else {
      return false;
    }
    for (; following > 0; --following) {
      if (i == text.size()) return false;
      const unsigned char next = static_cast<unsigned char>(text[i++]);
      if ((next & 0xc0) != 0x80) return false;
      point = point << 6 | (next & 0x3f);
    }
    if (point < smallest || point > 0x10ffff ||
        (point >= 0xd800 && point <= 0xdfff)) {
      return false;
    }
  }
  return true;
}

}  // namespace reprise
