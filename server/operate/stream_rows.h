// RowsLine: the line of `murmurate status` that says what became of a stream's messages.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

namespace murmurate {

/// Of StreamView's JSON: "  200 received, 198 rows, 198 forecasts, 2 late", and why a device makes
/// no row, if one does not. "" of a learner that does not say it.
std::string RowsLine(const nlohmann::json& stream);

}  // namespace murmurate
