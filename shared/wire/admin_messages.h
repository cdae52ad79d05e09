// The messages between the CLI and a live learner or shard: one question, one answer.
#pragma once

#include <string>
#include <variant>

#include "shared/wire/fields.h"

namespace murmurate::wire {

namespace fb {
struct Admin;
struct AdminOk;
}  // namespace fb

/// A question: "status" (answer: JSON), "stop".
struct Admin {
  std::string command;

  static constexpr Row<fb::Admin> kRow{MessageType{15}, kMaxGreetingBytes};
  static auto Fields(auto& m, auto visit) { return visit(m.command | Sentence("command")); }
};
struct AdminOk {
  bool ok = true;
  std::string text;

  static constexpr Row<fb::AdminOk> kRow{MessageType{16}, kMaxGreetingBytes};
  static auto Fields(auto& m, auto visit) {
    return visit(m.ok, m.text | Rule{"text", kMaxReport, Form::kPlain, kMaxReport});
  }
};

using AdminBody = std::variant<Admin, AdminOk>;

}  // namespace murmurate::wire
