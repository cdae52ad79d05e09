#include "server/parameters/model_shards.h"

#include "shared/core/check.h"
#include "shared/core/clock.h"

namespace murmurate {
namespace {

constexpr std::int64_t kWaitsSaidAfterNs = 1'000'000'000;
constexpr std::int64_t kFirstCheckpointNs = 2'000'000'000;
constexpr std::size_t kMaxModels = 64;

}  // namespace

Result<Shard*> ModelShards::Make(const std::string& name) {
  if (Shard* const shard = Find(name)) return shard;
  if (models_.size() == kMaxModels) return InvalidArgument("a shard holds at most 64 models");
  Model& model = models_[name];
  const LogCallback model_log = [log = options_.log, name](LogLevel level, std::string_view text) {
    if (log) log(level, name + ": " + std::string(text));
  };
  model.shard =
      std::make_unique<Shard>(options_.settings(name), options_.shard, options_.shards, model_log);
  model.saved_ns = MonotonicNs();
  return model.shard.get();
}

Status ModelShards::Resume(const std::string& name, const std::string& spec,
                           const SavedState& state) {
  auto shard = Make(name);
  if (!shard.ok()) return shard.status();
  MURMURATE_RETURN_IF_ERROR((*shard)->Load(state, spec));
  models_[name].saved_version = (*shard)->version();
  models_[name].may_answer = true;
  return {};
}

Shard* ModelShards::Find(const std::string& name) const {
  const auto found = models_.find(name);
  return found == models_.end() ? nullptr : found->second.shard.get();
}

std::vector<Shard::Answer> ModelShards::PopAnswers() {
  std::vector<Shard::Answer> answers;
  for (auto& [name, model] : models_) {
    if (AwaitsCheckpoint(name, &model)) continue;
    for (Shard::Answer& answer : model.shard->PopAnswers()) answers.push_back(std::move(answer));
  }
  return answers;
}

bool ModelShards::AwaitsCheckpoint(const std::string& name, Model* model) {
  if (model->may_answer || !options_.answers_after_checkpoint || model->shard->empty())
    return false;
  const std::int64_t now_ns = MonotonicNs();
  if (model->began_ns == 0) {
    model->began_ns = now_ns;
    options_.on_save(name, *model->shard);
  }
  if (now_ns - model->began_ns < kFirstCheckpointNs) return true;
  if (options_.log)
    options_.log(LogLevel::kWarning,
                 name +
                     ": the first checkpoint is not on disk yet; what is pushed until it is there "
                     "is lost if this shard is killed: free or mend the disk");
  model->may_answer = true;
  return false;
}

void ModelShards::Tick(std::int64_t now_ns) {
  for (auto& [name, model] : models_) {
    model.shard->Tick(now_ns);
    if (options_.save_every_ns > 0 && now_ns - model.saved_ns >= options_.save_every_ns)
      SaveNew(name, &model, now_ns);
  }
}

void ModelShards::Save(const std::string& name, std::int64_t now_ns) {
  SaveNew(name, &models_.at(name), now_ns);
}

void ModelShards::SaveAll(std::int64_t now_ns) {
  for (auto& [name, model] : models_) SaveNew(name, &model, now_ns);
}

void ModelShards::SaveNew(const std::string& name, Model* model, std::int64_t now_ns) {
  // guard: ArrayWorkerTest.OneThatHasLeftIsNoMemberInTheLastCheckpoint: who has left since is news
  const bool is_saved = model->shard->version() == model->saved_version &&
                        model->shard->members() >= model->saved_members;
  if (!options_.on_save || model->shard->empty() || is_saved) return;
  model->saved_version = model->shard->version();
  model->saved_members = model->shard->members();
  model->saved_ns = now_ns;
  options_.on_save(name, *model->shard);
}

void ModelShards::PostKept(const std::string& name, std::shared_ptr<const SavedState> state) {
  const std::lock_guard lock(mutex_);
  kept_.emplace_back(name, std::move(state));
}

bool ModelShards::ReceiveKept() {
  std::vector<std::pair<std::string, std::shared_ptr<const SavedState>>> on_disk;
  {
    const std::lock_guard lock(mutex_);
    on_disk.swap(kept_);
  }
  bool waited = false;
  for (const auto& [name, state] : on_disk) {
    const auto model = models_.find(name);
    if (model == models_.end()) continue;
    model->second.shard->Kept(*state);
    waited |= !std::exchange(model->second.may_answer, true);
  }
  return waited;
}

void ModelShards::Say(std::int64_t now_ns) {
  SayWaits(now_ns);
  SayLeft(now_ns);
  Look();
}

void ModelShards::SayWaits(std::int64_t now_ns) {
  std::string now;
  for (const auto& [name, model] : models_) {
    const std::string words = model.shard->Waits();
    if (!words.empty()) now += (now.empty() ? "" : "; ") + name + ": " + words;
  }
  if (now != waits_) {
    waits_ = std::move(now);
    waits_since_ns_ = now_ns;
  } else if (!waits_.empty() && waits_since_ns_ > 0 &&
             now_ns - waits_since_ns_ > kWaitsSaidAfterNs) {
    if (options_.log) options_.log(LogLevel::kInfo, waits_);
    waits_since_ns_ = 0;  // said once
  }
}

void ModelShards::SayLeft(std::int64_t now_ns) {
  if (said_left_ || !options_.on_left) return;
  bool left = false;
  for (const auto& [name, model] : models_) {
    const Shard::Use use = model.shard->use(now_ns);
    if (use == Shard::Use::kUsed) return;
    left = left || use == Shard::Use::kLeft;
  }
  if (!left) return;
  said_left_ = true;
  options_.on_left();
}

void ModelShards::Look() {
  std::vector<ShardView> now;
  for (const auto& [name, model] : models_) {
    const Shard& shard = *model.shard;
    now.push_back({name, shard.version(), shard.members(), shard.Waits(), shard.merges(),
                   shard.pushes(), shard.merged()});
  }
  const std::lock_guard lock(mutex_);
  views_ = std::move(now);
}

std::vector<ShardView> ModelShards::Views() const {
  const std::lock_guard lock(mutex_);
  return views_;
}

}  // namespace murmurate
