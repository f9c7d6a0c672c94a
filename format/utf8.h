// Whether bytes are UTF-8 as Unicode defines it. Thread-safe.
#ifndef REPRISE_FORMAT_UTF8_H_
#define REPRISE_FORMAT_UTF8_H_

#include "absl/strings/string_view.h"

namespace reprise {

// No overlong forms, no surrogates, nothing above U+10FFFF.
bool IsUtf8(absl::string_view text);

}  // namespace reprise

#endif  // REPRISE_FORMAT_UTF8_H_
