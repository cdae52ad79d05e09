#include "server/command/doctor_lines.h"

#include <algorithm>
#include <cstdio>
#include <nlohmann/json.hpp>

namespace murmurate {
namespace {

const char* NameOf(DoctorState state) {
  switch (state) {
    case DoctorState::kOk:
      return "ok";
    case DoctorState::kNote:
      return "note";
    default:
      return "missing";
  }
}

}  // namespace

std::string DoctorText(const std::vector<DoctorLine>& lines) {
  std::size_t width = 0;
  for (const DoctorLine& line : lines) width = std::max(width, line.what.size());
  const auto padded = [](std::string text, std::size_t to) {
    text.resize(std::max(to, text.size()), ' ');
    return text;
  };
  std::string text;
  for (const DoctorLine& line : lines) {
    text += padded(NameOf(line.state), 9) + padded(line.what, width + 2) + line.found + '\n';
    if (!line.remedy.empty()) text += padded("", 9) + padded("", width + 2) + line.remedy + '\n';
  }
  return text;
}

std::string DoctorJson(const std::vector<DoctorLine>& lines, const std::string& device) {
  nlohmann::json list = nlohmann::json::array();
  for (const DoctorLine& line : lines)
    list.push_back({{"what", line.what},
                    {"state", NameOf(line.state)},
                    {"found", line.found},
                    {"remedy", line.remedy},
                    {"asked", line.asked}});
  const nlohmann::json all{
      {"device", device}, {"ok", HasAllThatWasAsked(lines)}, {"lines", std::move(list)}};
  return all.dump(2) + '\n';
}

bool HasAllThatWasAsked(const std::vector<DoctorLine>& lines) {
  return std::ranges::none_of(lines, [](const DoctorLine& line) {
    return line.asked && line.state == DoctorState::kMissing;
  });
}

}  // namespace murmurate
