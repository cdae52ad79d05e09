// A config as tests load it: from its text, with what it comes to or how it is refused.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "client/environments/environment.h"
#include "server/config/config_text.h"
#include "server/config/model_settings.h"
#include "server/data/data_settings.h"
#include "server/ingest/ingest_settings.h"
#include "server/learn/setting_keys.h"
#include "server/operate/operate_settings.h"
#include "server/parameters/parameters_settings.h"
#include "server/stream/config_stream.h"

namespace murmurate {

inline Result<Config> Load(const std::string& text, std::vector<ConfigOverride> overrides = {}) {
  return Config::Load({"c.toml", "c", text}, overrides);
}

inline std::string Complaint(const std::string& text, std::vector<ConfigOverride> overrides = {}) {
  const auto config = Load(text, std::move(overrides));
  if (config.ok()) return "(it was accepted)";
  EXPECT_EQ(config.status().code(), StatusCode::kInvalidArgument);
  return config.status().message();
}

inline const Spaces kSpaces{Box({4}), Discrete(2)};

}  // namespace murmurate
