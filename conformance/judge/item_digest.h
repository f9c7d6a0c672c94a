// An item's digest as a testee gives it: equality, and the number in it.
#ifndef REPRISE_CONFORMANCE_JUDGE_ITEM_DIGEST_H_
#define REPRISE_CONFORMANCE_JUDGE_ITEM_DIGEST_H_

#include <optional>

#include "reprise/conformance/proto/v1/protocol.pb.h"

namespace reprise::conformance {

namespace v1 = ::reprise::conformance::v1;

// By the digests where both have one, else by the values that are printed.
bool SameDigest(const v1::ItemDigest& a, const v1::ItemDigest& b);

// The number that the value is: "12", the 3 of "3 of 6", or the 7 of a count
// for each parameter on which all agree, "a=7;b=7;". nullopt for anything else.
std::optional<double> ValueOf(const v1::ItemDigest& digest);

}  // namespace reprise::conformance

#endif  // REPRISE_CONFORMANCE_JUDGE_ITEM_DIGEST_H_
