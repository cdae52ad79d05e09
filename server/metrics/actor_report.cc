#include "server/metrics/actor_report.h"

namespace murmurate {

std::string TroubleReport::Words() const {
  if (agents == 0) return "model " + model + ": " + sentence;
  std::string words = "agent " + std::to_string(agent) + " of model " + model + ": " + sentence;
  if (agents > 1) words += " (the same of " + std::to_string(agents - 1) + " more agents)";
  return words;
}

}  // namespace murmurate
