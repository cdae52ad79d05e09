// A file finds the standard header of what it uses without the precompiled one: in itself or in the
// project's headers that it includes. Only the builds without precompiled headers (asan, tsan,
// Windows) would notice one that is missing.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <regex>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "tests/house/code_text.h"

namespace murmurate {
namespace {

/// A standard header, and a pattern of names that come with it alone.
const std::vector<std::pair<std::string, std::string>>& NamesOfHeaders() {
  static const std::vector<std::pair<std::string, std::string>> kNames = {
      {"algorithm",
       "ranges::(sort|stable_sort|find|find_if|any_of|all_of|none_of|copy|fill|count|count_if|"
       "transform|"
       "max_element|min_element)|sort|stable_sort|find_if|any_of|all_of|none_of|copy_n|fill_n|"
       "max_element|min_element|lower_bound|upper_bound|clamp|transform|nth_element|partial_sort"},
      {"array", "array"},
      {"atomic", "atomic|atomic_ref|atomic_flag|atomic_thread_fence"},
      {"bit", "bit_cast|popcount|bit_ceil|bit_width|countr_zero|has_single_bit|endian"},
      {"charconv", "from_chars|to_chars"},
      {"chrono", "chrono::\\w+"},
      {"cmath",
       "sin|cos|exp|log|pow|floor|ceil|round|sqrt|isfinite|isnan|log1p|expm1|tanh|lround|llround|"
       "hypot|lgamma|fmod"},
      {"condition_variable", "condition_variable|condition_variable_any"},
      {"cstdio", "fprintf|snprintf|fopen|printf"},
      {"cstdlib", "getenv|strtol|strtod|strtoul"},
      {"cstring", "memcpy|memcmp|memset|memmove|strlen|strerror"},
      {"deque", "deque"},
      {"filesystem", "filesystem::\\w+"},
      {"functional", "function|greater|plus|bind|reference_wrapper"},
      {"limits", "numeric_limits"},
      {"map", "map|multimap"},
      {"memory", "unique_ptr|shared_ptr|weak_ptr|make_unique|make_shared"},
      {"mutex", "mutex|lock_guard|unique_lock|scoped_lock|call_once"},
      {"optional", "optional|nullopt"},
      {"set", "set|multiset"},
      {"span", "span"},
      {"sstream", "ostringstream|istringstream|stringstream"},
      {"thread", "thread|jthread|this_thread::\\w+"},
      {"unordered_map", "unordered_map"},
      {"utility", "exchange|pair|make_pair|as_const|index_sequence|make_index_sequence"},
      {"variant", "variant|visit|get_if|holds_alternative|monostate"},
      {"vector", "vector"},
  };
  return kNames;
}

/// The same code with each string literal empty, the raw ones R"(...)" too.
std::string WithoutStrings(const std::string& code) {
  std::string kept;
  for (std::size_t i = 0; i < code.size(); ++i) {
    kept += code[i];
    if (code[i] != '"' || (i > 0 && code[i - 1] == '\'')) continue;
    if (i > 0 && code[i - 1] == 'R') {
      const std::size_t open = code.find('(', i);
      if (open == std::string::npos) return kept;
      const std::string close = ")" + code.substr(i + 1, open - i - 1) + "\"";
      i = std::min(code.size(), code.find(close, open)) + close.size() - 1;
    } else {
      for (++i; i < code.size() && code[i] != '"' && code[i] != '\n'; ++i)
        if (code[i] == '\\') ++i;
    }
    kept += '"';
  }
  return kept;
}

/// Of each standard header, the first name that `code` uses of it.
std::map<std::string, std::string> StandardNames(const std::string& code) {
  static const std::regex kName(R"(\bstd::(\w+(?:::\w+)?))");
  static const std::map<std::string, std::regex> kHeaders = [] {
    std::map<std::string, std::regex> headers;
    for (const auto& [header, names] : NamesOfHeaders())
      headers.emplace(header, std::regex("(" + names + ")(::.*)?"));
    return headers;
  }();
  const std::string bare = WithoutStrings(code);
  std::set<std::string> names;
  for (std::sregex_iterator found(bare.begin(), bare.end(), kName), end; found != end; ++found)
    names.insert((*found)[1]);
  std::map<std::string, std::string> used;
  for (const std::string& name : names)
    for (const auto& [header, pattern] : kHeaders)
      if (std::regex_match(name, pattern)) used.emplace(header, name);
  return used;
}

class Includes {
 public:
  explicit Includes(const std::vector<CodeFile>& files) {
    static const std::regex kInclude(R"(#include ["<]([\w./-]+)[">])");
    for (const CodeFile& file : files) {
      std::set<std::string>& names = included_[file.name];
      for (std::sregex_iterator found(file.text.begin(), file.text.end(), kInclude), end;
           found != end; ++found)
        names.insert((*found)[1]);
      const std::size_t rooms = file.name.find("/include/");
      if (rooms != std::string::npos) public_[file.name.substr(rooms + 9)] = file.name;
    }
  }

  /// What the file named and the project's headers that it includes include.
  std::set<std::string> Of(const std::string& file) const {
    std::set<std::string> reached;
    std::vector<std::string> left = {file};
    while (!left.empty()) {
      const auto found = included_.find(left.back());
      left.pop_back();
      if (found == included_.end()) continue;
      for (const std::string& name : found->second) {
        if (!reached.insert(name).second) continue;
        const auto header = public_.find(name);
        left.push_back(header == public_.end() ? name : header->second);
      }
    }
    return reached;
  }

 private:
  std::map<std::string, std::set<std::string>> included_;
  std::map<std::string, std::string> public_;  // "murmurate/client.h": where it lies
};

TEST(Includes, EachFileFindsTheStandardHeaderOfWhatItUses) {
  const std::vector<CodeFile> files = CodeFiles({"shared", "client", "server", "bench", "tests"});
  const Includes includes(files);
  std::size_t uses = 0;
  for (const CodeFile& file : files) {
    const std::set<std::string> included = includes.Of(file.name);
    for (const auto& [header, name] : StandardNames(WithoutComments(file.text))) {
      ++uses;
      EXPECT_TRUE(included.contains(header))
          << file.name << " uses std::" << name << ": include <" << header << ">";
    }
  }
  EXPECT_GT(uses, 3000u) << "names are not found any more";
}

}  // namespace
}  // namespace murmurate
