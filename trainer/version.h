// Versions that a checkpoint records.
#ifndef REPRISE_TRAINER_VERSION_H_
#define REPRISE_TRAINER_VERSION_H_

#include <string>

namespace reprise {

inline constexpr char kTrainerVersion[] = "1.0.0";

// Of the LibTorch that this program was compiled against, e.g. "2.11.0".
std::string LibTorchVersion();

}  // namespace reprise

#endif  // REPRISE_TRAINER_VERSION_H_
