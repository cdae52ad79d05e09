// A config as tests load it: from its text, with what it comes to or how it is refused.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "server/config/config.h"

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
