// What tests of one shard begin with: asgd, plain SGD, and a worker that joins.
#pragma once

#include "server/parameters/shard.h"

namespace murmurate {

inline ShardSettings PlainAsgd() {
  ShardSettings settings;
  settings.rule = {.name = RuleName::kAsgd, .form = PushForm::kGradient, .window = 1};
  settings.optimizer.name = OptimizerSettings::Name::kSgd;
  return settings;
}

inline wire::Join JoinOf(const ModelSpec& spec, const ShardSettings& settings) {
  wire::Join join;
  join.model = "default";
  join.spec = spec.ToText();
  join.rule = settings.ToText();
  return join;
}

}  // namespace murmurate
