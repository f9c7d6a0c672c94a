// What a version 1 manifest of a later minor version has and this program does
// not know, as lines of text that a migration carries in its history.
#ifndef REPRISE_FORMAT_MIGRATE_UNKNOWN_V1_H_
#define REPRISE_FORMAT_MIGRATE_UNKNOWN_V1_H_

#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace reprise {

// One line for each message with unknown fields ("unknown content of model.
// parameters[3]: 9a06036e6577", the fields' bytes in hexadecimal) and for each
// record of an unknown item. Empty for version 1.0. REQUIRES: DecodeV1 takes
// `manifest`. Memory: twice the manifest. Thread-safe.
std::vector<std::string> UnknownContentOfV1(absl::string_view manifest,
                                            uint32_t minor);

}  // namespace reprise

#endif  // REPRISE_FORMAT_MIGRATE_UNKNOWN_V1_H_
