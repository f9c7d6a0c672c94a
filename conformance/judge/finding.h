// Findings, and the names of what was lost: "scaler.scale:RESET".
#ifndef REPRISE_CONFORMANCE_JUDGE_FINDING_H_
#define REPRISE_CONFORMANCE_JUDGE_FINDING_H_

#include <cstdint>
#include <initializer_list>
#include <string>
#include <vector>

#include "format/vocabulary.h"
#include "reprise/conformance/proto/v1/report.pb.h"

namespace reprise::conformance {

namespace v1 = ::reprise::conformance::v1;

// item:FAULT as a message.
v1::FaultName Name(Item item, Fault fault);
// "scaler.scale:RESET".
std::string TextOf(const v1::FaultName& name);
// "scaler.scale:RESET", or "rng.cpu:RESET or rng.cuda:RESET".
std::string NameOf(const v1::Finding& finding);
// The same, with " (cannot tell)" behind several.
std::string NamesText(const v1::Finding& finding);

// Whether `item` is among the names of the finding.
bool Names(const v1::Finding& finding, Item item);
// Whether one of `items` is among the names of one of `findings`.
bool NamesAny(const std::vector<v1::Finding>& findings,
              std::initializer_list<Item> items);

v1::Finding MakeFinding(std::vector<v1::FaultName> names,
                        v1::Finding::Ground ground, uint32_t attempt,
                        uint64_t onset_step, std::string channel,
                        std::string evidence);

// Names of a verdict's findings, sorted, each once: "optim.step:RESET". A
// finding that cannot tell its candidates apart is one entry, "a or b".
std::vector<std::string> NamesOf(const v1::Verdict& verdict);

}  // namespace reprise::conformance

#endif  // REPRISE_CONFORMANCE_JUDGE_FINDING_H_
