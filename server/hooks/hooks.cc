#include "server/hooks/hooks.h"

#include <algorithm>
#include <atomic>
#include <utility>

#include "shared/core/clock.h"

namespace murmurate {
namespace {

std::atomic<bool> thread_left{false};

}  // namespace

Result<std::unique_ptr<Hooks>> Hooks::Start(const ConfigEntries& entries, HookTools tools) {
  if (entries.hooks.empty()) return std::unique_ptr<Hooks>();
  const LogCallback log = tools.log;
  auto made = MakeHooks(entries, std::move(tools));
  if (!made.ok()) return made.status();
  std::unique_ptr<Hooks> hooks(new Hooks());
  for (ConfiguredHook& hook : *made)
    hooks->runners_.push_back(std::make_unique<HookRunner>(std::move(hook), log));
  for (std::size_t i = 0; i < hooks->runners_.size(); ++i) hooks->runners_[i]->Start(i + 1);
  return hooks;
}

Hooks::~Hooks() {
  Cancel();
  for (auto& runner : runners_)
    if (!runner->finished()) (void)runner.release();  // its thread still uses it
}

void Hooks::NameFirstModel(const std::string& model) {
  const std::lock_guard lock(mutex_);
  if (first_model_.empty()) first_model_ = model;
}

bool Hooks::wants(HookMoment moment) const {
  return std::ranges::any_of(runners_, [&](const auto& one) { return one->wants(moment); });
}

void Hooks::Post(HookEvent event) {
  const std::lock_guard lock(mutex_);
  const bool first = event.model == first_model_;
  const auto shared = std::make_shared<const HookEvent>(std::move(event));
  for (const auto& runner : runners_)
    if (runner->wants(shared->moment) && runner->settings().MayTake(shared->model, first))
      runner->Post(shared);
}

bool Hooks::Hold() const {
  return std::ranges::any_of(runners_, [](const auto& one) { return one->holds(); });
}

std::vector<Reading> Hooks::Reports() const {
  std::vector<Reading> reports;
  for (const auto& runner : runners_) reports.push_back(runner->Report());
  return reports;
}

void Hooks::Finish(HookEvent end) {
  if (std::exchange(finished_, true)) return;
  {
    const std::lock_guard lock(mutex_);
    end.model = first_model_;
  }
  AwaitAll(std::make_shared<const HookEvent>(std::move(end)));
}

void Hooks::Cancel() {
  if (!std::exchange(finished_, true)) AwaitAll(nullptr);
}

/// Null: they are given no end.
void Hooks::AwaitAll(const HookRunner::Event& end) {
  const std::int64_t now_ns = MonotonicNs();
  for (const auto& runner : runners_) runner->AskToFinish(end, now_ns);
  for (const auto& runner : runners_)
    if (!runner->AwaitFinish()) thread_left = true;
}

bool Hooks::left_a_thread() { return thread_left; }

}  // namespace murmurate
