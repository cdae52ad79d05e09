#include "client/c_abi/convert.h"

#include <sstream>

#include "client/c_abi/step_arguments.h"
#include "shared/core/check.h"
#include "shared/model/spaces_text.h"

namespace murmurate::c_abi {
namespace {

constexpr std::uint64_t kMostLeaves = 32;

Status Wrong(const std::string& name, const std::string& text) {
  return InvalidArgument(name + " " + text);
}

Status ToBounds(const mmr_space& given, Space* out) {
  const std::size_t count = static_cast<std::size_t>(out->element_count());
  switch (given.bounds) {
    case MMR_UNBOUNDED:
      return Status();
    case MMR_BOUNDED_ALL:
      out->low.assign(count, given.low_all);
      out->high.assign(count, given.high_all);
      return Status();
    case MMR_BOUNDED_EACH:
      if (given.low == nullptr || given.high == nullptr) {
        return Wrong("mmr_space",
                     "has MMR_BOUNDED_EACH and no low or high: point them at one "
                     "float for each number");
      }
      out->low.assign(given.low, given.low + count);
      out->high.assign(given.high, given.high + count);
      return Status();
  }
  return Wrong("mmr_space.bounds",
               "is " + std::to_string(given.bounds) + ": use MMR_UNBOUNDED, ..._ALL or ..._EACH");
}

Status ToBox(const mmr_space& given, Space* out) {
  if (given.dimensions < 1 || given.dimensions > 8) {
    return Wrong("mmr_space.dimensions",
                 "of a box is " + std::to_string(given.dimensions) + " where 1 to 8 were expected");
  }
  if (given.element != MMR_FLOAT32 && given.element != MMR_UINT8) {
    return Wrong("mmr_space.element",
                 "of a box is " + std::to_string(given.element) + ": use MMR_FLOAT32 or MMR_UINT8");
  }
  *out = Box(std::vector<int>(given.shape, given.shape + given.dimensions));
  if (given.element == MMR_UINT8) out->element = Space::Element::kUint8;
  if (given.bounds == MMR_UNBOUNDED) return Status();
  // The sizes of bounds come from the shape: it has to make sense first.
  MURMURATE_RETURN_IF_ERROR(CheckSpaces({*out, Discrete(2)}));
  return ToBounds(given, out);
}

Status ToLeaf(const mmr_space& given, Space* out) {
  switch (given.kind) {
    case MMR_BOX:
      return ToBox(given, out);
    case MMR_DISCRETE:
      *out = Discrete(given.n);
      return Status();
    case MMR_MULTI_BINARY:
      *out = MultiBinary(given.n);
      return Status();
    case MMR_MULTI_DISCRETE:
      if (given.choices == nullptr || given.choice_count == 0 ||
          given.choice_count > kMaxSpaceNumbers) {
        return Wrong("mmr_space.choices",
                     "of a multi-discrete space is NULL, or choice_count is "
                     "not 1 to 65536: name each variable's choices");
      }
      *out = MultiDiscrete(std::vector<int>(given.choices, given.choices + given.choice_count));
      return Status();
  }
  return Wrong("mmr_space.kind", "is " + std::to_string(given.kind) +
                                     ": make spaces with mmr_box, mmr_discrete and the like, and "
                                     "no mmr_dict inside another");
}

mmr_status ToSpace(const mmr_space* given, const char* side, Space* out) {
  if (given == nullptr) return Fail(std::string("mmr_agent_options.") + side + " is NULL");
  mmr_space space;
  if (const mmr_status status = Read(given, "mmr_space", &space); status != MMR_OK) return status;
  if (space.kind != MMR_DICT) {
    const Status status = ToLeaf(space, out);
    return status.ok() ? MMR_OK : Fail(Wrong(side, status.message()));
  }
  if (space.leaves == nullptr || space.leaf_count < 1 || space.leaf_count > kMostLeaves) {
    return Fail(std::string(side) +
                ": a dict has 1 to 32 leaves, but leaves is NULL or leaf_count "
                "something else");
  }
  std::vector<std::pair<std::string, Space>> leaves;
  for (std::uint64_t i = 0; i < space.leaf_count; ++i) {
    mmr_space leaf;
    const mmr_status status = Read(At(space.leaves, i), "mmr_space", &leaf);
    if (status != MMR_OK) return status;
    auto& [name, made] = leaves.emplace_back();
    name = leaf.name == nullptr ? "" : leaf.name;
    const Status read = ToLeaf(leaf, &made);
    if (!read.ok()) return Fail(Wrong(std::string(side) + "." + name, read.message()));
  }
  *out = Dict(leaves);
  return MMR_OK;
}

template <typename T>
mmr_status ToEnum(std::int32_t given, std::int32_t most, const char* name, T* out) {
  if (given < 0 || given > most) {
    return Fail(std::string(name) + " is " + std::to_string(given) + " where 0 to " +
                std::to_string(most) + " were expected: use the MMR_ names");
  }
  *out = static_cast<T>(given);
  return MMR_OK;
}

/// Converts default_action to the parts of a space that has passed CheckSpaces.
mmr_status ToAction(const mmr_action* given, const Space& space, Action* out) {
  mmr_action read;
  const mmr_status status = ReadAction(given, ActionCounts(ActionLayout(space)), &read);
  if (status != MMR_OK) return status;
  *out = Action(space);
  for (const Action::Part& part : out->parts()) {
    if (part.continuous) {
      std::copy_n(read.numbers + part.first, part.count, out->numbers(part.name).begin());
    } else {
      std::copy_n(read.choices + part.first, part.count, out->choices(part.name).begin());
    }
  }
  return MMR_OK;
}

constexpr std::uint64_t kMostPolicyBytes = std::uint64_t{1} << 40;

mmr_status ToPolicy(const mmr_client_options& given, PolicySource* out) {
  const bool bytes = given.policy_bytes != nullptr;
  if (given.policy_path != nullptr && bytes) {
    return Fail("mmr_client_options has a policy_path and policy_bytes: give one of them");
  }
  if (given.policy_path != nullptr) {
    if (*given.policy_path == 0) return Fail("mmr_client_options.policy_path is empty");
    *out = PolicySource::FromFile(given.policy_path);
    return MMR_OK;
  }
  if (bytes != (given.policy_size > 0) || given.policy_size > kMostPolicyBytes) {
    return Fail("mmr_client_options.policy_bytes is " + std::string(bytes ? "" : "NULL") +
                (bytes ? "given" : "") + " and policy_size " + std::to_string(given.policy_size) +
                ": give the bytes of a policy file and how many they are");
  }
  if (bytes) {
    *out = PolicySource::FromMemory(
        std::string(static_cast<const char*>(given.policy_bytes), given.policy_size));
  }
  return MMR_OK;
}

/// "npc-*=npc boss-?=boss"
mmr_status ToModels(std::string_view text, std::vector<ModelPattern>* out) {
  std::istringstream pairs{std::string(text)};
  for (std::string pair; pairs >> pair;) {
    const std::size_t equals = pair.rfind('=');
    if (equals == pair.npos) {
      return Fail("mmr_client_options.models: \"" + pair +
                  "\" is no PATTERN=MODEL; write npc-*=npc boss-?=boss");
    }
    out->push_back({pair.substr(0, equals), pair.substr(equals + 1)});
  }
  return MMR_OK;
}

}  // namespace

mmr_status Convert(const mmr_client_options& given, ClientOptions* out) {
  if (given.name != nullptr) out->name = given.name;
  mmr_status status = ToEnum(given.pace, 2, "mmr_client_options.pace", &out->pace);
  if (status != MMR_OK) return status;
  status =
      ToEnum(given.without_policy, 2, "mmr_client_options.without_policy", &out->without_policy);
  if (status != MMR_OK) return status;
  status = ToEnum(given.updates, 1, "mmr_client_options.updates", &out->updates);
  if (status != MMR_OK) return status;
  if (given.max_wait_ms < 0) {
    return Fail("mmr_client_options.max_wait_ms is " + std::to_string(given.max_wait_ms) +
                ": milliseconds, or 0 to wait to the end");
  }
  out->accept_reset = given.accept_reset != 0;
  out->deterministic = given.deterministic != 0;
  if ((status = ToPolicy(given, &out->policy)) != MMR_OK) return status;
  return given.models == nullptr ? MMR_OK : ToModels(given.models, &out->models);
}

mmr_status ReadAgentOptions(const mmr_agent_options* options, AgentOptions* out) {
  if (options == nullptr) return Fail("the mmr_agent_options are NULL: they state the spaces");
  mmr_agent_options given;
  mmr_status status = Read(options, "mmr_agent_options", &given);
  if (status != MMR_OK) return status;
  status = ToSpace(given.observation, "observation", &out->observation);
  if (status != MMR_OK) return status;
  status = ToSpace(given.action, "action", &out->action);
  if (status != MMR_OK) return status;
  if (given.privileged != nullptr) {
    status = ToSpace(given.privileged, "privileged", &out->privileged);
    if (status != MMR_OK) return status;
  }
  if (given.model != nullptr) out->model = given.model;
  if (given.default_action == nullptr) return MMR_OK;
  const Status spaces = CheckSpaces({out->observation, out->action, out->privileged});
  if (!spaces.ok()) return Fail(spaces);
  return ToAction(given.default_action, out->action, &out->default_action);
}

}  // namespace murmurate::c_abi
