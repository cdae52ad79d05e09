#include "server/daemon/model_stores.h"

#include <utility>

namespace murmurate {
namespace {

constexpr char kMeanwhile[] =
    "; what is played meanwhile is kept in memory only, and checkpoints hold no replay";

}  // namespace

Status ModelStores::KeepIn(const std::string& directory, const ModelSpec& spec) {
  for (std::size_t i = 0; i < loops_.size(); ++i) {
    const std::string number = i == 0 ? "" : '.' + std::to_string(i + 1);
    MURMURATE_RETURN_IF_ERROR(
        loops_[i]->store().KeepIn({directory + "/replay" + number, model_, spec}));
  }
  return {};
}

Status ModelStores::Load(const SavedState& state) {
  for (std::size_t i = 0; i < loops_.size(); ++i) {
    MURMURATE_RETURN_IF_ERROR(loops_[i]->LoadStore(static_cast<int>(i), state));
    if (const std::string missing = loops_[i]->store().missing(); !missing.empty())
      log_(LogLevel::kWarning, "model " + model_ + ": " + missing);
  }
  return {};
}

void ModelStores::Save(SavedState* state) const {
  for (std::size_t i = 0; i < loops_.size(); ++i) loops_[i]->SaveStore(static_cast<int>(i), state);
}

void ModelStores::CheckHealth(std::size_t loop) {
  const Status& health = loops_[loop]->store().disk_health();
  std::string said;
  {
    const std::lock_guard lock(mutex_);
    troubles_.resize(loops_.size());
    if (troubles_[loop].empty() == health.ok()) return;
    if (!health.ok()) troubles_[loop] = "model " + model_ + ": " + health.message() + kMeanwhile;
    said = health.ok() ? "" : troubles_[loop];
    if (health.ok()) troubles_[loop].clear();
  }
  if (!said.empty()) return log_(LogLevel::kError, said);
  log_(LogLevel::kInfo, "model " + model_ + ": all of the replay is on the disk again");
}

void ModelStores::Seal(SavedState* state) const {
  for (std::size_t i = 0; i < loops_.size(); ++i) loops_[i]->SealStore(static_cast<int>(i), state);
}

void ModelStores::Written(const SavedState& state) const {
  for (std::size_t i = 0; i < loops_.size(); ++i)
    loops_[i]->StoreWritten(static_cast<int>(i), state);
}

std::vector<std::string> ModelStores::Troubles() const {
  const std::lock_guard lock(mutex_);
  std::vector<std::string> all;
  for (const std::string& trouble : troubles_)
    if (!trouble.empty()) all.push_back(trouble);
  return all;
}

std::string ModelStores::Waiting() const {
  for (const auto& loop : loops_)
    if (const std::string sentence = loop->Waiting(); !sentence.empty())
      return "model " + model_ + ": " + sentence;
  return "";
}

}  // namespace murmurate
