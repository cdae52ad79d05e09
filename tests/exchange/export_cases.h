// ExportCases: models of every kind of layer, input and action, with random parameters: what the
// tests of exported files compare with.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "shared/model/weights_file.h"

namespace murmurate {

struct ExportCase {
  std::string name;
  std::string model;                       ///< text of a ModelSpec, without its first line
  std::vector<std::string> networks = {};  ///< exported besides the policy
};

const std::vector<ExportCase>& ExportCases();

/// The model of a case with parameters that differ in every number. Statistics are of 100 rows.
WeightsFile RandomModel(const std::string& model, std::uint64_t seed);

}  // namespace murmurate
