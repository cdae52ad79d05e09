#include "server/daemon/live_models.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "shared/core/check.h"

namespace murmurate {

std::atomic<bool> LiveModels::thread_left_{false};

bool LiveModels::Has(const std::string& name) const {
  return std::ranges::any_of(models_, [&](const auto& model) { return model->name() == name; });
}

Status LiveModels::Add(std::unique_ptr<LiveModel> model, std::unique_ptr<Learner> learner,
                       const SavedState* resumed, const std::string& store_directory,
                       const RecordedPlay* play) {
  const std::lock_guard lock(mutex_);
  MURMURATE_RETURN_IF_ERROR(
      model->StartLearning(std::move(learner), resumed, store_directory, play));
  models_.push_back(std::move(model));
  return {};
}

std::vector<Reading> LiveModels::Streams() {
  const std::lock_guard lock(mutex_);
  std::vector<Reading> streams;
  for (const auto& model : models_)
    if (auto metrics = model->source().Metrics()) streams.push_back(*std::move(metrics));
  return streams;
}

std::vector<std::string> LiveModels::Troubles() {
  const std::lock_guard lock(mutex_);
  std::vector<std::string> all;
  for (const auto& model : models_)
    std::ranges::move(model->stores().Troubles(), std::back_inserter(all));
  return all;
}

void LiveModels::OnTried(const std::string& directory, const std::string& folder, bool written,
                         Checkpoint* checkpoint) {
  LiveModel* model = nullptr;
  {
    const std::lock_guard lock(mutex_);
    for (const auto& one : models_)
      if (ModelFolderOf(directory, one->name(), one == models_.front()) == folder)
        model = one.get();
  }
  if (model != nullptr) model->OnTried(folder, written, checkpoint);
}

void LiveModels::AskForCheckpoint(const std::string& name) {
  const std::lock_guard lock(mutex_);
  for (const auto& model : models_)
    if (model->name() == name) model->hooks().AskForCheckpoint();
}

Result<std::uint64_t> LiveModels::GoBack(const std::string& name,
                                         std::shared_ptr<const Snapshot> to) {
  const std::lock_guard lock(mutex_);
  for (const auto& model : models_)
    if (model->name() == name) return model->hooks().GoBack(std::move(to));
  return InvalidArgument("there is no model " + name);
}

std::optional<std::string> LiveModels::FolderOf(const std::string& directory,
                                                const std::string& name) const {
  const std::lock_guard lock(mutex_);
  for (const auto& model : models_)
    if (model->name() == name) return ModelFolderOf(directory, name, model == models_.front());
  return std::nullopt;
}

double LiveModels::WatchBatches() {
  const std::lock_guard lock(mutex_);
  double longest_s = 0;
  for (const auto& model : models_) longest_s = std::max(longest_s, model->WatchBatches());
  return longest_s;
}

void LiveModels::AskForCheckpoints() {
  const std::lock_guard lock(mutex_);
  for (const auto& model : models_) model->hooks().AskForCheckpoint();
}

std::vector<std::string> LiveModels::Waiting() const {
  const std::lock_guard lock(mutex_);
  std::vector<std::string> sentences;
  for (const auto& model : models_)
    if (std::string sentence = model->stores().Waiting(); !sentence.empty())
      sentences.push_back(std::move(sentence));
  return sentences;
}

void LiveModels::AskToEnd() {
  for (const auto& model : models_) model->AskToEnd();
}

void LiveModels::AwaitEnd(std::int64_t deadline_ns) {
  for (const auto& model : models_)
    if (!model->AwaitEnd(deadline_ns)) thread_left_ = true;
}

void LiveModels::Abandon() {
  for (auto& model : models_)
    if (model->left_behind()) (void)model.release();  // its thread still reads it
}

}  // namespace murmurate
