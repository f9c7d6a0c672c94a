// The mutants by what they break; Mutants() in mutant.h is their union.
#ifndef REPRISE_CONFORMANCE_FAKE_MUTANTS_TABLES_H_
#define REPRISE_CONFORMANCE_FAKE_MUTANTS_TABLES_H_

#include <vector>

#include "conformance/fake/mutants/mutant.h"

namespace reprise::conformance::fake {

void AddModelMutants(std::vector<Mutant>* mutants);
void AddOptimizerMutants(std::vector<Mutant>* mutants);
void AddScheduleAndScalerMutants(std::vector<Mutant>* mutants);
void AddDataMutants(std::vector<Mutant>* mutants);
void AddRunMutants(std::vector<Mutant>* mutants);

// Appends a mutant; the caller fills in what is not the default.
inline Mutant& Add(std::vector<Mutant>* mutants, std::string id,
                   std::string fault, std::string expected,
                   std::string signature, Customise install) {
  Mutant& mutant = mutants->emplace_back();
  mutant.id = std::move(id);
  mutant.fault = std::move(fault);
  mutant.expected = std::move(expected);
  mutant.signature = std::move(signature);
  mutant.install = std::move(install);
  return mutant;
}

}  // namespace reprise::conformance::fake

#endif  // REPRISE_CONFORMANCE_FAKE_MUTANTS_TABLES_H_
