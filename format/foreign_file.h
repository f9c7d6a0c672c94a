// What a file that is not ours seems to be, for messages.
//
//   reprise::DescribeForeignFile("PK\x03\x04...");
//   // "a zip archive (torch.save writes these)"
//
// Thread-safe.
#ifndef REPRISE_FORMAT_FOREIGN_FILE_H_
#define REPRISE_FORMAT_FOREIGN_FILE_H_

#include <string>

#include "absl/strings/string_view.h"

namespace reprise {

// A noun phrase for the kind of file that begins with `head` (512 bytes are
// enough). Never empty; "unknown binary data" when nothing fits.
std::string DescribeForeignFile(absl::string_view head);

}  // namespace reprise

#endif  // REPRISE_FORMAT_FOREIGN_FILE_H_
