// What `murmurate status` says of a stream.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "server/operate/status_report.h"

namespace murmurate {

nlohmann::json StreamJson(const StreamView& stream);

/// Of StreamJson: "stream temp: connected to mqtt://..., 1,200 messages (10/s) of 3 devices; ...",
/// then a line of what became of the messages, of each field that was missing or wrong, and of each
/// reason why messages were refused.
std::string StreamLine(const nlohmann::json& stream);

}  // namespace murmurate
