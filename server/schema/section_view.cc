#include "server/schema/section_view.h"

#include <algorithm>

#include "shared/core/check.h"

namespace murmurate {

const ConfigEntry* SectionView::Find(const std::string& key) const {
  const auto found = entries_.values.find(PathOf(key));
  return found == entries_.values.end() ? nullptr : &found->second;
}

const ConfigEntry& SectionView::operator[](const std::string& key) const {
  const ConfigEntry* found = Find(key);
  MURMURATE_CHECK(found != nullptr, "a key that no room has bound");
  return *found;
}

bool SectionView::Given(const std::string& key) const {
  const auto rule = std::ranges::find(rules_, key, &ConfigRule::key);
  MURMURATE_CHECK(rule != rules_.end(), "a key that no room has bound");
  return (*this)[key].value != rule->standard;
}

std::string SectionView::PathOf(const std::string& key) const {
  return (entries_.values.contains(own_ + key) ? own_ : general_) + key;
}

std::string SectionView::Locate(const std::string& key) const {
  return (*this)[key].origin + ": " + PathOf(key) + ": ";
}

Status SectionView::Refuse(const std::string& key, const std::string& expected) const {
  return Blame(key, "got " + ToToml((*this)[key].value) + ", expected " + expected);
}

Status SectionView::RefuseOwn(const std::string& key, const std::string& expected,
                              const std::string& blamed) const {
  return InvalidArgument((*this)[blamed].origin + ": " + own_ + key + ": got " +
                         ToToml((*this)[key].value) + ", expected " + expected);
}

Status SectionView::NoneOf(std::initializer_list<const char*> keys,
                           const std::string& because) const {
  for (const char* key : keys)
    if (Given(key)) return Superfluous(key, because);
  return {};
}

Status SectionView::BlameOwn(const std::string& key, const std::string& why) const {
  return InvalidArgument((*this)[key].origin + ": " + own_ + key + ": " + why);
}

}  // namespace murmurate
