// JsonScanner: finds the wanted places of a JSON payload as the parser passes over it, so that no
// document is built. What is wanted is a tree of keys made once:
//
//   /temp, /air/hum, /air/co2        root -- "air" -- "co2" (slot 2)
//                                     |        `---- "hum" (slot 1)
//                                     `---- "temp" (slot 0)
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "server/stream/payload.h"

namespace murmurate {

/// The only place of the room that includes nlohmann.
class JsonScanner final : public PayloadScanner {
 public:
  /// A key's node; the children of one lie side by side, sorted by key.
  struct Node {
    std::string key;
    int first_child = 0, children = 0;
    int slot;
  };
  /// The slots that sample_draft.h names, with the JSON pointer of each. kInvalidArgument: no
  /// pointer (RFC 6901), too deep, or the same as another.
  static Result<std::unique_ptr<PayloadScanner>> Make(
      const std::vector<std::pair<std::string, int>>& pointers);

  void Scan(std::string_view payload, SampleDraft* draft) override;

 private:
  explicit JsonScanner(std::vector<Node> nodes) : nodes_(std::move(nodes)) {}

  std::vector<Node> nodes_;
};

/// "/" and `name`, escaped.
std::string JsonPointerOf(const std::string& name);

}  // namespace murmurate
