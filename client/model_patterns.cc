#include "client/model_patterns.h"

#include "shared/wire/protocol.h"

namespace murmurate {

/// Only the last * needs to be gone back to: one before it has then matched as little as it could.
bool Matches(std::string_view pattern, std::string_view name) {
  std::size_t p = 0, n = 0, star = pattern.npos, from = 0;
  while (n < name.size()) {
    if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      from = n;
    } else if (p < pattern.size() && (pattern[p] == '?' || pattern[p] == name[n])) {
      ++p, ++n;
    } else if (star != pattern.npos) {
      p = star + 1;
      n = ++from;
    } else {
      return false;
    }
  }
  return pattern.find_first_not_of('*', p) == pattern.npos;
}

Status CheckModelPatterns(const std::vector<ModelPattern>& models) {
  for (const ModelPattern& entry : models) {
    if (!entry.agents.empty() && wire::IsGoodName(entry.model)) continue;
    return InvalidArgument("model pattern \"" + entry.agents + "\" -> \"" + entry.model +
                           "\": expected a pattern like npc-*, and a model of 1 to 64 of A-Z a-z "
                           "0-9 . _ -");
  }
  return {};
}

const std::string& ModelOf(const std::vector<ModelPattern>& models, const std::string& name) {
  for (const ModelPattern& entry : models) {
    if (Matches(entry.agents, name)) return entry.model;
  }
  return name;
}

}  // namespace murmurate
