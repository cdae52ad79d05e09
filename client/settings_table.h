// SettingsTable: the learner's settings as the client last heard them: mmr-client writes, any
// thread reads, without lock or allocation.
//
// A game reads one value at a time. `revision` is 0 while values change, so a reader that finds the
// same revision before and after reading knows which revision it has read.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string_view>

#include "shared/wire/actor_messages.h"

namespace murmurate {

class SettingsTable {
 public:
  /// Different names in a client's life; further ones are not kept.
  static constexpr int kMaxNames = 4 * static_cast<int>(wire::kMaxSettings);

  double Get(std::string_view name, double fallback) const {
    const Entry* entry = Find(name);
    const double value = entry == nullptr ? kAbsent : entry->value.load(std::memory_order_acquire);
    return std::isnan(value) ? fallback : value;
  }
  /// The revision; 0: none have come, or they are changing just now.
  std::uint16_t revision() const { return revision_.load(std::memory_order_acquire); }

  /// mmr-client. Names that are not there any more are absent again.
  void Apply(const wire::Settings& settings) {
    revision_.store(0, std::memory_order_seq_cst);
    const int known = count_.load(std::memory_order_relaxed);
    for (const wire::Setting& setting : settings.settings) {
      if (Entry* entry = FindOrAdd(setting.name))
        entry->value.store(setting.value, std::memory_order_seq_cst);
    }
    for (int i = 0; i < known; ++i) {
      const auto same = [&](const wire::Setting& s) { return s.name == entries_[i].text(); };
      if (std::ranges::none_of(settings.settings, same))
        entries_[i].value.store(kAbsent, std::memory_order_seq_cst);
    }
    revision_.store(static_cast<std::uint16_t>(settings.revision), std::memory_order_seq_cst);
  }

 private:
  static constexpr double kAbsent = std::numeric_limits<double>::quiet_NaN();
  struct Entry {
    std::array<char, 64> name{};  ///< written once, before it is counted
    std::size_t size = 0;
    std::atomic<double> value{kAbsent};
    std::string_view text() const { return {name.data(), size}; }
  };

  const Entry* Find(std::string_view name) const {
    const int known = count_.load(std::memory_order_acquire);
    for (int i = 0; i < known; ++i)
      if (entries_[i].text() == name) return &entries_[i];
    return nullptr;
  }
  Entry* FindOrAdd(std::string_view name) {
    if (const Entry* found = Find(name)) return &entries_[found - entries_.data()];
    const int known = count_.load(std::memory_order_relaxed);
    if (known == kMaxNames || name.size() > entries_[0].name.size()) return nullptr;
    Entry& added = entries_[known];
    std::ranges::copy(name, added.name.begin());
    added.size = name.size();
    count_.store(known + 1, std::memory_order_release);
    return &added;
  }

  std::array<Entry, kMaxNames> entries_;
  std::atomic<int> count_{0};
  std::atomic<std::uint16_t> revision_{0};
};

}  // namespace murmurate
