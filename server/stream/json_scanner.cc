#include "server/stream/json_scanner.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <nlohmann/json.hpp>
#include <optional>

#include "server/stream/sample_draft.h"

namespace murmurate {
namespace {

using Json = nlohmann::json;
using Node = JsonScanner::Node;

constexpr int kNoNode = -1;

/// Walk has the functions that nlohmann calls while it parses; false stops it.
class Walk {
 public:
  Walk(const std::vector<Node>& nodes, SampleDraft* draft) : nodes_(nodes), draft_(*draft) {}

  bool null() {
    draft_.PutNull(NextSlot());
    return true;
  }
  bool boolean(bool value) {
    draft_.PutDecimal(NextSlot(), value ? 1.0 : 0.0, "");
    return true;
  }
  bool number_integer(Json::number_integer_t value) {  // below 0
    draft_.PutDecimal(NextSlot(), static_cast<double>(value), "");
    return true;
  }
  bool number_unsigned(Json::number_unsigned_t value) {
    draft_.PutInteger(NextSlot(), value);
    return true;
  }
  bool number_float(Json::number_float_t value, const Json::string_t& written) {
    draft_.PutDecimal(NextSlot(), value, written);
    return true;
  }
  bool string(Json::string_t& text) {
    draft_.PutText(NextSlot(), text);
    return true;
  }
  bool binary(Json::binary_t&) { return false; }
  bool start_object(std::size_t) { return Enter(/*list=*/false); }
  bool start_array(std::size_t) { return Enter(/*list=*/true); }
  bool end_object() { return Leave(); }
  bool end_array() { return Leave(); }
  bool key(Json::string_t& key) {
    Level& level = levels_[depth_ - 1];
    level.next = Child(level.node, key);
    return true;
  }
  bool parse_error(std::size_t, const std::string&, const Json::exception&) { return false; }

 private:
  struct Level {
    int node;
    int next;  ///< the node of the value that comes
    bool list;
    std::uint32_t index;
  };

  int Child(int node, std::string_view key) const {
    if (node == kNoNode || nodes_[node].children == 0) return kNoNode;
    const auto first = nodes_.begin() + nodes_[node].first_child;
    const auto last = first + nodes_[node].children;
    const auto found = std::lower_bound(
        first, last, key,
        [](const Node& child, std::string_view wanted) { return child.key < wanted; });
    return found != last && found->key == key ? static_cast<int>(found - nodes_.begin()) : kNoNode;
  }
  int NextNode() {
    if (depth_ == 0) return 0;
    Level& level = levels_[depth_ - 1];
    if (!level.list) return level.next;
    if (level.node == kNoNode) return kNoNode;
    char written[12];
    const char* end = std::to_chars(written, written + sizeof written, level.index++).ptr;
    return Child(level.node, {written, end});
  }
  /// The slot of a value that holds no others.
  int NextSlot() {
    const int node = NextNode();
    if (node == kNoNode) return kNoSlot;
    const int slot = nodes_[node].slot;
    if (node == 0 && slot == kNoSlot) draft_.Refuse(Refusal::kWrongType);
    return slot;
  }
  bool Enter(bool list) {
    const int node = NextNode();
    if (depth_ == levels_.size()) {
      draft_.Refuse(Refusal::kTooDeep);
      return false;
    }
    if (node != kNoNode) draft_.PutOther(nodes_[node].slot);
    levels_[depth_++] = {node, kNoNode, list, 0};
    return true;
  }
  bool Leave() {
    --depth_;
    return true;
  }

  const std::vector<Node>& nodes_;
  SampleDraft& draft_;
  std::array<Level, PayloadReader::kMaxDepth> levels_;
  std::size_t depth_ = 0;
};

struct Path {
  std::vector<std::string> keys;
  int slot;
};

Result<Path> ParsePointer(const std::string& pointer, int slot) {
  Path path{{}, slot};
  const auto wrong = [&](const std::string& why) {
    return InvalidArgument("'" + pointer + "' is no JSON pointer, " + why +
                           ": write /key, /outer/inner or /list/0, with ~1 for '/' and ~0 for '~'");
  };
  if (!pointer.empty() && pointer.front() != '/') return wrong("as it does not begin with '/'");
  for (std::size_t i = 0; i < pointer.size(); ++i) {
    if (pointer[i] == '/') {
      path.keys.emplace_back();
    } else if (pointer[i] != '~') {
      path.keys.back() += pointer[i];
    } else {
      const char escaped = ++i < pointer.size() ? pointer[i] : ' ';
      if (escaped != '0' && escaped != '1') return wrong("as '~' stands alone in it");
      path.keys.back() += escaped == '0' ? '~' : '/';
    }
  }
  if (path.keys.size() > PayloadReader::kMaxDepth) return wrong("as it is deeper than 32 levels");
  return path;
}

/// The nodes of sorted paths that share their first `depth` keys, which are those of `node`.
void Grow(std::span<const Path> paths, std::size_t depth, std::size_t node,
          std::vector<Node>* nodes) {
  if (!paths.empty() && paths[0].keys.size() == depth) {
    (*nodes)[node].slot = paths[0].slot;
    paths = paths.subspan(1);
  }
  std::vector<std::span<const Path>> groups;
  while (!paths.empty()) {
    const auto end = std::find_if(paths.begin(), paths.end(), [&](const Path& path) {
      return path.keys[depth] != paths[0].keys[depth];
    });
    const auto size = static_cast<std::size_t>(end - paths.begin());
    groups.push_back(paths.first(size));
    paths = paths.subspan(size);
  }
  const std::size_t first = nodes->size();
  (*nodes)[node].first_child = static_cast<int>(first);
  (*nodes)[node].children = static_cast<int>(groups.size());
  for (const auto& group : groups) nodes->push_back({group[0].keys[depth], 0, 0, kNoSlot});
  for (std::size_t i = 0; i < groups.size(); ++i) Grow(groups[i], depth + 1, first + i, nodes);
}

}  // namespace

Result<std::unique_ptr<PayloadScanner>> JsonScanner::Make(
    const std::vector<std::pair<std::string, int>>& pointers) {
  std::vector<Path> paths;
  for (const auto& [pointer, slot] : pointers) {
    Result<Path> path = ParsePointer(pointer, slot);
    if (!path.ok()) return path.status();
    const auto same = std::find_if(paths.begin(), paths.end(),
                                   [&](const Path& other) { return other.keys == path->keys; });
    if (same != paths.end()) {
      return InvalidArgument("two values are read from '" + pointer +
                             "' of the payload: give each a pointer of its own");
    }
    paths.push_back(*std::move(path));
  }
  std::sort(paths.begin(), paths.end(),
            [](const Path& a, const Path& b) { return a.keys < b.keys; });
  std::vector<Node> nodes = {{"", 0, 0, kNoSlot}};
  Grow(paths, 0, 0, &nodes);
  return std::unique_ptr<PayloadScanner>(new JsonScanner(std::move(nodes)));
}

void JsonScanner::Scan(std::string_view payload, SampleDraft* draft) {
  Walk walk(nodes_, draft);
  if (!Json::sax_parse(payload.begin(), payload.end(), &walk)) draft->Refuse(Refusal::kMalformed);
}

std::string JsonPointerOf(const std::string& name) {
  std::string pointer = "/";
  for (const char c : name) {
    if (c == '~' || c == '/') {
      pointer += c == '~' ? "~0" : "~1";
    } else {
      pointer += c;
    }
  }
  return pointer;
}

}  // namespace murmurate
