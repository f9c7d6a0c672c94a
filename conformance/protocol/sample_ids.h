// SampleIdsDigest: the name of a batch in the events, specified in
// spec/ALGORITHMS.md ("Sample-id digest").
//
//   step.set_ids(SampleIdsDigest({1, 59999}));   // "ef80d853b456c79a"
//
// Thread-safe.
#ifndef REPRISE_CONFORMANCE_PROTOCOL_SAMPLE_IDS_H_
#define REPRISE_CONFORMANCE_PROTOCOL_SAMPLE_IDS_H_

#include <cstdint>
#include <string>
#include <vector>

namespace reprise::conformance {

// 16 lower-case hexadecimal digits; the order of the ids matters.
std::string SampleIdsDigest(const std::vector<uint64_t>& ids);

}  // namespace reprise::conformance

#endif  // REPRISE_CONFORMANCE_PROTOCOL_SAMPLE_IDS_H_
