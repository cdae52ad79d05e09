// Keys: a section of a configuration bound to the settings struct of the room that it is for. Each
// key is declared once, with the member that it sets; its kind follows from the member's type, its
// choices from the words of an enumeration (shared/core/enum_names.h), its default from the
// member's initializer. What files, --set, `check` and the resolved file need follows from that.
//
//   const Keys<EvaluationSettings>& EvaluationKeys() {
//     using namespace keys;
//     using S = EvaluationSettings;
//     static const Keys<S> kKeys("evaluation", {
//         {"episodes", &S::episodes, "without exploration, of frozen weights", Range(1, 1e6)},
//         {"every", &S::every, "of run.steps, and at the end; 0: never", Range(0, 1)},
//     });
//     return kKeys;
//   }
//
//   EvaluationSettings settings = EvaluationKeys().Read(EvaluationKeys().View(entries));
#pragma once

#include <concepts>
#include <functional>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "server/schema/section_view.h"
#include "shared/core/enum_names.h"

namespace murmurate {

/// ConfigType converts a member of type T to what a configuration writes: its kind, the value that
/// stands for it (std::monostate: it counts as not set), and back.
template <typename T>
struct ConfigType;

/// The ConfigType of types that a ConfigValue holds as they are.
template <typename T, ValueKind Kind>
struct PlainConfigType {
  static constexpr ValueKind kKind = Kind;
  static ConfigValue To(const T& value) { return value; }
  static T From(const ConfigValue& value) { return std::get<T>(value); }
};
template <>
struct ConfigType<bool> : PlainConfigType<bool, ValueKind::kBool> {};
template <>
struct ConfigType<std::vector<std::string>>
    : PlainConfigType<std::vector<std::string>, ValueKind::kStrings> {};
template <>
struct ConfigType<std::vector<double>> : PlainConfigType<std::vector<double>, ValueKind::kNumbers> {
};
template <>
struct ConfigType<std::string> : PlainConfigType<std::string, ValueKind::kString> {
  static ConfigValue To(const std::string& value) {
    return value.empty() ? ConfigValue() : ConfigValue(value);
  }
};
/// A value as it stands, of a key whose kind an option says.
template <>
struct ConfigType<ConfigValue> {
  static constexpr ValueKind kKind = ValueKind::kLayers;
  static ConfigValue To(const ConfigValue& value) { return value; }
  static ConfigValue From(const ConfigValue& value) { return value; }
};
template <std::integral T>
struct ConfigType<T> {
  static constexpr ValueKind kKind = ValueKind::kInteger;
  static ConfigValue To(T value) { return static_cast<std::int64_t>(value); }
  static T From(const ConfigValue& value) { return static_cast<T>(std::get<std::int64_t>(value)); }
};
template <std::floating_point T>
struct ConfigType<T> {
  static constexpr ValueKind kKind = ValueKind::kNumber;
  static ConfigValue To(T value) { return static_cast<double>(value); }
  static T From(const ConfigValue& value) {
    if (const auto* whole = std::get_if<std::int64_t>(&value)) return static_cast<T>(*whole);
    return static_cast<T>(std::get<double>(value));
  }
};
template <HasNames T>
struct ConfigType<T> {
  static constexpr ValueKind kKind = ValueKind::kString;
  static ConfigValue To(T value) { return std::string(TextOf(value)); }
  static T From(const ConfigValue& value) { return *Named<T>(std::get<std::string>(value)); }
};
template <typename T>
struct ConfigType<std::optional<T>> {
  static constexpr ValueKind kKind = ConfigType<T>::kKind;
  static ConfigValue To(const std::optional<T>& value) {
    return value ? ConfigType<T>::To(*value) : ConfigValue();
  }
  static std::optional<T> From(const ConfigValue& value) { return ConfigType<T>::From(value); }
};

/// The words of an enumeration, also of one that may be unset; of other types none.
template <typename T>
std::vector<std::string> WordsOf(const T&) {
  std::vector<std::string> words;
  if constexpr (HasNames<T>)
    for (const auto& name : NamesOf(T{})) words.emplace_back(name.text);
  return words;
}
template <typename T>
std::vector<std::string> WordsOf(const std::optional<T>&) {
  return WordsOf(T{});
}

/// The options of a declaration beside key, member and meaning.
namespace keys {

/// A member of a member: In(&S::words, &ModelConfig::trunk).
template <typename... Members>
auto In(Members... members) {
  return [=](auto& settings) -> decltype(auto) { return (settings.*....*members); };
}

inline auto Range(double low, double high) {
  return [=](ConfigRule* rule) {
    rule->low = low;
    rule->high = high;
  };
}
/// The value that a message proposes, in TOML. Without it, that is the default.
inline auto Example(const std::string& toml) {
  return [=](ConfigRule* rule) { rule->example = toml; };
}
/// A kind of its own, which the member's type does not tell.
inline auto Kind(ValueKind kind) {
  return [=](ConfigRule* rule) { rule->kind = kind; };
}
/// Texts, or words of an enumeration, of which no other is accepted.
inline auto Choices(const std::vector<std::string>& words) {
  return [=](ConfigRule* rule) { rule->choices = words; };
}
/// The default of runs, where the bare struct begins with something else.
inline auto Default(const ConfigValue& value) {
  return [=](ConfigRule* rule) { rule->standard = value; };
}
/// Shown as not set, and the member then keeps its initializer.
inline auto Unset() { return Default(ConfigValue()); }

}  // namespace keys

template <typename S>
struct Key {
  /// `member`: &S::name, or keys::In what is deeper.
  template <typename Member, typename... Options>
  requires std::invocable<Member, S&> Key(const char* key, Member member,
                                          const std::string& meaning, const Options&... options) {
    using T = std::remove_cvref_t<std::invoke_result_t<Member, S&>>;
    S defaults;
    const T& standard = std::invoke(member, defaults);
    rule.choices = WordsOf(standard);
    Declare(key, ConfigType<T>::kKind, ConfigType<T>::To(standard), meaning, options...);
    store = [member](const ConfigValue& value, S* settings) {
      std::invoke(member, *settings) = ConfigType<T>::From(value);
    };
  }
  /// A key that sets what no member holds as it is written.
  template <typename... Options>
  Key(const char* key, ValueKind kind, ConfigValue standard,
      std::function<void(const ConfigValue&, S*)> stores, const std::string& meaning,
      const Options&... options)
      : store(std::move(stores)) {
    Declare(key, kind, std::move(standard), meaning, options...);
  }

  ConfigRule rule = {};
  std::function<void(const ConfigValue&, S*)> store;  ///< not called where nothing is set

 private:
  template <typename... Options>
  void Declare(const char* key, ValueKind kind, ConfigValue standard, const std::string& meaning,
               const Options&... options) {
    rule.key = key;
    rule.kind = kind;
    rule.standard = std::move(standard);
    rule.meaning = meaning;
    (options(&rule), ...);
    if (rule.example.empty()) rule.example = ShortToml(rule.standard);
  }
};

/// Many threads: it never changes.
template <typename S>
class Keys {
 public:
  Keys(const std::string& section, const std::vector<Key<S>>& keys) : section_(section) {
    for (const Key<S>& key : keys) {
      rules_.push_back(key.rule);
      rules_.back().section = section;
      stores_.push_back(key.store);
    }
  }

  const std::vector<ConfigRule>& rules() const { return rules_; }
  /// The section as it holds for `model`; "": for all that say nothing else.
  SectionView View(const ConfigEntries& entries, const std::string& model = "") const {
    return SectionView(entries, rules_, PathOf(section_, "", model), section_ + '.');
  }
  /// The section at `path`: "stream.temp."
  SectionView ViewAt(const ConfigEntries& entries, const std::string& path) const {
    return SectionView(entries, rules_, path, path);
  }

  S Read(const SectionView& view) const {
    S settings;
    ReadInto(view, &settings);
    return settings;
  }
  /// Leaves alone what is not set.
  void ReadInto(const SectionView& view, S* settings) const {
    for (std::size_t i = 0; i < rules_.size(); ++i) {
      const ConfigEntry* entry = view.Find(rules_[i].key);
      if (entry != nullptr && !std::holds_alternative<std::monostate>(entry->value))
        stores_[i](entry->value, settings);
    }
  }

 private:
  std::string section_;
  std::vector<ConfigRule> rules_;
  std::vector<std::function<void(const ConfigValue&, S*)>> stores_;
};

}  // namespace murmurate
