// Digests of a State, item by item, as StateEvent carries them.
//
//   for (const v1::ItemDigest& item : ItemDigests(state)) ...
//
// Equal exactly when the values are, within one build: a digest covers the
// serialised fields. Pure functions, thread-safe.
#ifndef REPRISE_CONFORMANCE_FAKE_ITEM_DIGESTS_H_
#define REPRISE_CONFORMANCE_FAKE_ITEM_DIGESTS_H_

#include <string>
#include <vector>

#include "conformance/fake/arrays.h"
#include "conformance/protocol/messages.h"

namespace reprise::conformance::fake {

// Every item that the state has, by ascending number; items of another
// workload (rng.cuda without a device) are absent.
std::vector<v1::ItemDigest> ItemDigests(const State& state);

std::string DigestOf(const Arrays& arrays);
std::string DigestOf(const GeneratorState& generator);

}  // namespace reprise::conformance::fake

#endif  // REPRISE_CONFORMANCE_FAKE_ITEM_DIGESTS_H_
