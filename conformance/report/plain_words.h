// What an item is and what a fault means, in words for a person who has not
// read the specification.
#ifndef REPRISE_CONFORMANCE_REPORT_PLAIN_WORDS_H_
#define REPRISE_CONFORMANCE_REPORT_PLAIN_WORDS_H_

#include <string>

#include "format/vocabulary.h"
#include "reprise/conformance/proto/v1/report.pb.h"

namespace reprise::conformance {

// "the loss scale of the gradient scaler".
std::string ItemInWords(Item item);
// "was set back to its first value".
std::string FaultInWords(Fault fault);

// A sentence: "The loss scale of the gradient scaler was set back to its first
// value." Of a finding that cannot tell: "Either ... or ...; what was recorded
// cannot tell which."
std::string FindingInWords(const v1::Finding& finding);

// What to look at first in a trainer that has this finding; may be empty.
std::string WhereToLook(const v1::FaultName& name);

}  // namespace reprise::conformance

#endif  // REPRISE_CONFORMANCE_REPORT_PLAIN_WORDS_H_
