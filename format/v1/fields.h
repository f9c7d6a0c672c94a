// Which field of the version 1 schema holds which value of which item: the one
// description that encoder and decoder share.
#ifndef REPRISE_FORMAT_V1_FIELDS_H_
#define REPRISE_FORMAT_V1_FIELDS_H_

#include <cstdint>

#include "format/snapshot.h"
#include "format/v1/field_exchange.h"
#include "reprise/spec/v1/checkpoint.pb.h"

namespace reprise {
namespace v1_internal {

// Position of the data as version 1 stores it.
struct BatchPosition {
  uint64_t epoch = 0;
  uint64_t batch_index = 0;
};

void ExchangeGroup(FieldExchange* exchange, const Snapshot& snapshot,
                   checkpoint::v1::ParameterGroup* message,
                   ParameterGroup* group);
void ExchangeOptimizer(FieldExchange* exchange,
                       checkpoint::v1::Optimizer* message,
                       OptimizerState* optimizer);
void ExchangeParameterState(FieldExchange* exchange,
                            checkpoint::v1::ParameterState* message,
                            ParameterState* state);
void ExchangeSchedule(FieldExchange* exchange,
                      checkpoint::v1::Schedule* message,
                      ScheduleState* schedule);
void ExchangeScaler(FieldExchange* exchange,
                    checkpoint::v1::GradScaler* message,
                    GradScalerState* scaler);
// All but the cursor, which is `position` here.
void ExchangeSampler(FieldExchange* exchange, checkpoint::v1::Sampler* message,
                     SamplerState* sampler, BatchPosition* position);
void ExchangeEnvironment(FieldExchange* exchange,
                         checkpoint::v1::Environment* message,
                         EnvironmentState* environment);

}  // namespace v1_internal
}  // namespace reprise

#endif  // REPRISE_FORMAT_V1_FIELDS_H_
