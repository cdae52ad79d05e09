// library: a shared library of the user's own, by the table of functions of murmurate_hook.h.
#include <dlfcn.h>

#include <algorithm>
#include <array>
#include <exception>
#include <utility>

#include "murmurate_hook.h"
#include "server/hooks/kinds.h"
#include "server/metrics/reading.h"

namespace murmurate {
namespace {

struct LibrarySettings {
  std::string path, argument;
};

const Keys<LibrarySettings>& LibraryKeys() {
  using namespace keys;
  using S = LibrarySettings;
  static const Keys<S> kKeys(
      "hook.library",
      {{"path", &S::path, "a shared library that exports murmurate_hook (murmurate_hook.h)",
        Kind(ValueKind::kPath), Example("\"libmy_hook.so\"")},
       {"argument", &S::argument, "given to its function open", Example("\"anything\"")}});
  return kKeys;
}

using Function = int (*)(void*, const mmr_hook_event*);

constexpr std::pair<HookMoment, Function mmr_hook_table::*> kFunctions[] = {
    {HookMoment::kBeforeBatch, &mmr_hook_table::before_batch},
    {HookMoment::kAfterBatch, &mmr_hook_table::after_batch},
    {HookMoment::kNewVersion, &mmr_hook_table::version},
    {HookMoment::kCheckpoint, &mmr_hook_table::checkpoint},
    {HookMoment::kEpisode, &mmr_hook_table::episode},
    {HookMoment::kEnd, &mmr_hook_table::end}};

/// An event in the form of the C interface; refers to the one it is made of.
class CEvent {
 public:
  CEvent(const HookEvent& event, std::uint64_t dropped) {
    names_.reserve(event.reading.samples().size());
    for (const MetricSample& sample : event.reading.samples())
      if (const auto number = sample.value.number(); number && sample.label.empty())
        names_.emplace_back(sample.metric->name), numbers_.push_back({nullptr, *number});
    for (std::size_t i = 0; i < names_.size(); ++i) numbers_[i].name = names_[i].c_str();
    event_ = {.size = sizeof event_,
              .finite = event.finite,
              .model = event.model.c_str(),
              .steps = event.steps,
              .environment_steps = event.environment_steps,
              .version = event.version,
              .dropped = dropped,
              .numbers = numbers_.data(),
              .number_count = numbers_.size(),
              .episode_return = event.episode.raw_return,
              .episode_length = event.episode.length,
              .episode_success = event.episode.success ? int{*event.episode.success} : -1,
              .text = event.text.c_str(),
              .good = event.good,
              .reserved = 0};
  }
  const mmr_hook_event* get() const { return &event_; }

 private:
  std::vector<std::string> names_;
  std::vector<mmr_hook_number> numbers_;
  mmr_hook_event event_;
};

class LibraryHook : public Hook {
 public:
  LibraryHook(LibrarySettings settings, HookTools tools)
      : settings_(std::move(settings)), tools_(std::move(tools)) {}

  /// Which functions it has is known when it is open; those that it lacks cost a call of nothing.
  HookMoments wants() const override { return ~HookMoments{0}; }
  std::string done() const override { return done_; }
  void OnDropped(std::uint64_t so_far) override { dropped_ = so_far; }

  Status Start(std::int64_t) override {
    MURMURATE_RETURN_IF_ERROR(OpenLibrary());
    if (table_->open == nullptr) return {};
    return Guarded(
        [&] { return table_->open(settings_.argument.c_str(), tools_.folder.c_str(), &self_); });
  }

  Status OnEvent(const HookEvent& event) override {
    for (const auto& [moment, function] : kFunctions) {
      if (moment != event.moment || table_->*function == nullptr) continue;
      const CEvent c_event(event, dropped_);
      Status status = Guarded([&] { return (table_->*function)(self_, c_event.get()); });
      if (!status.ok()) done_ = "disabled: " + status.message();
      return status;
    }
    return {};
  }

  void Close() override {
    Status status;
    if (table_ != nullptr && table_->close != nullptr)
      status = Guarded([&] { return table_->close(self_), 0; });
    table_ = nullptr;
    if (library_ != nullptr) dlclose(std::exchange(library_, nullptr));
    if (!status.ok())
      tools_.log(LogLevel::kWarning, "hook " + tools_.name + ": " + status.message());
  }

 private:
  Status OpenLibrary() {
    library_ = dlopen(settings_.path.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (library_ == nullptr)
      return InvalidData(settings_.path + ": cannot be loaded (" + dlerror() +
                         "); give the path of a shared library");
    const auto get =
        reinterpret_cast<const mmr_hook_table* (*)()>(dlsym(library_, "murmurate_hook"));
    if (get == nullptr)
      return InvalidData(settings_.path +
                         ": exports no function murmurate_hook; see murmurate_hook.h");
    const mmr_hook_table* table = nullptr;
    MURMURATE_RETURN_IF_ERROR(Guarded([&] { return table = get(), 0; }));
    if (table == nullptr || table->abi != MMR_HOOK_ABI || table->size < sizeof *table)
      return InvalidData(settings_.path + ": its table is not of ABI " +
                         std::to_string(MMR_HOOK_ABI) +
                         "; compile it with the murmurate_hook.h of this version");
    const auto is_there = [&](const auto& one) { return table->*one.second != nullptr; };
    if (std::ranges::none_of(kFunctions, is_there))
      return InvalidData(settings_.path +
                         ": its table has no function for an event; set one, such as after_batch");
    table_ = table;
    return {};
  }

  std::string LastError() const {
    const char* const error =
        table_ != nullptr && table_->last_error != nullptr ? table_->last_error(self_) : nullptr;
    return error == nullptr || *error == '\0' ? "" : std::string(": ") + error;
  }

  template <typename Call>
  Status Guarded(const Call& call) const {
    try {
      const int code = call();
      if (code == 0) return {};
      return InvalidData(settings_.path + " returned " + std::to_string(code) + LastError());
    } catch (const std::exception& thrown) {
      return InvalidData(settings_.path + " threw an exception: " + thrown.what());
    } catch (...) {
      return InvalidData(settings_.path + " threw an exception");
    }
  }

  const LibrarySettings settings_;
  const HookTools tools_;
  void* library_ = nullptr;
  const mmr_hook_table* table_ = nullptr;  ///< null: it is not loaded, or not as it must be
  void* self_ = nullptr;
  std::uint64_t dropped_ = 0;
  std::string done_;
};

Result<std::unique_ptr<Hook>> Make(const SectionView& keys, const HookTools& tools) {
  LibrarySettings settings = LibraryKeys().Read(keys);
  if (settings.path.empty())
    return RefuseHook(keys, "path is not set; write for example path = \"libmy_hook.so\"");
  return std::unique_ptr<Hook>(std::make_unique<LibraryHook>(std::move(settings), tools));
}

}  // namespace

HookKind LibraryHookKind() { return {"library", RulesOf<LibraryKeys>, Make, true}; }

}  // namespace murmurate
