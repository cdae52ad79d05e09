#include "shared/wire/read_body.h"

#include <flatbuffers/flatbuffers.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "murmurate_generated.h"
#include "shared/wire/body_reader.h"
#include "shared/wire/limits.h"

namespace murmurate::wire {
namespace {

constexpr std::uint64_t kMaxWeightsBytes = 4ull << 30;
constexpr std::uint32_t kMaxPullCredit = 1024;

bool Distinct(std::vector<std::uint32_t> numbers) {
  std::sort(numbers.begin(), numbers.end());
  return std::adjacent_find(numbers.begin(), numbers.end()) == numbers.end();
}

Hello ReadTable(BodyReader& in, const fb::Hello& from, std::size_t) {
  Hello hello;
  hello.min_major = from.min_major();
  hello.max_major = from.max_major();
  in.Expect(hello.min_major <= hello.max_major, "protocol range", "min <= max");
  hello.actor_name = in.Name(from.actor_name(), "actor name");
  hello.host_identity = from.host_identity();
  in.Expect(from.pace() <= static_cast<std::uint8_t>(Pace::kLockstep), "pace", "0 to 2");
  hello.pace = static_cast<Pace>(from.pace());
  hello.accept_reset = from.accept_reset();
  hello.pid = from.pid();
  hello.number = from.number();
  hello.sequence = from.sequence();
  std::set<std::string> names;
  std::size_t agents = 0;
  ForEach(in, from.models(), 4, 4, [&](const fb::HelloModel& model) {
    HelloModel& m = hello.models.emplace_back();
    m.name = in.Name(model.name(), "model name");
    in.Expect(names.insert(m.name).second, "model names", "each one once");
    m.spaces = in.Text(model.spaces(), "spaces", kMaxSpaces);
    m.agents = in.Numbers(model.agents(), "agents");
    in.Expect(Distinct(m.agents), "agents", "each one once");
    agents += m.agents.size();
    in.Expect(agents <= kMaxAgents, "agents", "at most 65536 of one client", Refusal::kTooLarge);
    m.holds_incarnation = model.holds_incarnation();
    m.holds_version = model.holds_version();
  });
  return hello;
}

HelloOk ReadTable(BodyReader& in, const fb::HelloOk& from, std::size_t) {
  HelloOk ok;
  ok.incarnation = from.incarnation();
  ok.resumed = from.resumed();
  ok.session = from.session();
  ok.number = from.number();
  ok.sequence = from.sequence();
  ok.kept_sequence = from.kept_sequence();
  ok.heartbeat_ms = from.heartbeat_ms();
  in.Expect(ok.heartbeat_ms >= 1 && ok.heartbeat_ms <= 60'000, "heartbeat", "1 to 60000 ms");
  ok.max_message_bytes = from.max_message_bytes();
  ok.bytes_total = from.bytes_total();
  ok.announce_address = in.Text(from.announce_address(), "announce address", kMaxAddress);
  ok.weights_address = in.Text(from.weights_address(), "weights address", kMaxAddress);
  ForEach(in, from.models(), 4, 4, [&](const fb::HelloOkModel& model) {
    HelloOkModel& m = ok.models.emplace_back();
    m.name = in.Name(model.name(), "model name");
    m.id = in.Id(model.id());
    m.member = model.member();
    m.spec = in.Text(model.spec(), "spec", kMaxSpec);
    m.version = model.version();
    m.trajectory_length = model.trajectory_length();
    in.Expect(m.trajectory_length >= 1 && m.trajectory_length <= 65'536, "trajectory length",
              "1 to 65536");
    m.max_trajectory_ms = model.max_trajectory_ms();
    m.segment = in.Text(model.segment(), "segment name", kMaxSegmentName);
    m.agent_indices = in.Numbers(model.agent_indices(), "agent indices");
    m.agent_seeds = in.Numbers(model.agent_seeds(), "agent seeds");
    in.Expect(m.agent_seeds.size() == m.agent_indices.size(), "agent seeds", "one for each agent");
    m.steps_total = model.steps_total();
    m.at_version = model.at_version();
  });
  return ok;
}

Experience ReadTable(BodyReader& in, const fb::Experience& from, std::size_t) {
  Experience e;
  e.model = from.model();
  in.Expect(e.model < kMaxModels, "model", "an index of HELLO's list");
  e.agent = from.agent();
  e.incarnation = from.incarnation();
  e.version = from.version();
  e.first_step = from.first_step();
  e.steps = from.steps();
  e.agent_steps = from.agent_steps();
  const std::size_t columns =
      in.Count(from.columns(), "columns", kColumnCount, sizeof(ColumnRange), 4);
  in.Expect(columns >= kPlainColumnCount, "columns", "8 to 11", Refusal::kMalformed);
  if (!in.ok()) return e;
  for (std::size_t i = 0; i < columns; ++i) {
    const fb::ColumnRange* range = from.columns()->Get(static_cast<flatbuffers::uoffset_t>(i));
    e.columns[i] = {range->offset(), range->bytes()};
  }
  const std::size_t reports = from.reports() == nullptr
                                  ? 0
                                  : in.Count(from.reports(), "reports", kMaxReportedNumbers, 4, 4);
  for (std::size_t i = 0; i < reports && in.ok(); ++i) {
    const fb::Report& report = *from.reports()->Get(static_cast<flatbuffers::uoffset_t>(i));
    e.reports.push_back({in.Name(report.name(), "report name"), report.sum(), report.count()});
    in.Expect(std::isfinite(report.sum()), "report", "a finite sum", Refusal::kNotFinite);
  }
  return e;
}

using CreditVector = flatbuffers::Vector<const fb::ModelCredit*>;

std::vector<ModelCredit> ReadCredits(BodyReader& in, const CreditVector* from) {
  std::vector<ModelCredit> models;
  ForEach(in, from, sizeof(fb::ModelCredit), 8, [&](const fb::ModelCredit& m) {
    models.push_back({m.steps_total(), m.at_version(), m.version()});
  });
  return models;
}

Accepted ReadTable(BodyReader& in, const fb::Accepted& from, std::size_t) {
  return {from.sequence(), from.bytes_total(), ReadCredits(in, from.models())};
}

Committed ReadTable(BodyReader& in, const fb::Committed& from, std::size_t) {
  in.Expect(from.model() < kMaxModels, "model", "an index of HELLO's list");
  return {from.model(), from.sequence(), from.trajectories(), from.steps()};
}

void ReadTroubles(BodyReader& in, const fb::Ping& from, Ping* ping) {
  if (from.troubles() == nullptr) return;
  const std::size_t count = in.Count(from.troubles(), "troubles", kMaxPingTroubles, 4, 4);
  for (std::size_t i = 0; i < count && in.ok(); ++i) {
    const fb::PingTrouble& trouble = *from.troubles()->Get(static_cast<flatbuffers::uoffset_t>(i));
    in.Expect(trouble.model() < kMaxModels, "model", "an index of HELLO's list");
    ping->troubles.push_back({trouble.model(), trouble.agent(), trouble.agents(),
                              in.Sentence(trouble.sentence(), "trouble")});
  }
}

Ping ReadTable(BodyReader& in, const fb::Ping& from, std::size_t) {
  Ping ping{from.sent_ns(), {}, {}};
  ForEach(in, from.models(), sizeof(fb::PingModel), 8, [&](const fb::PingModel& m) {
    ping.models.push_back({m.steps(), m.dropped_steps(), m.version()});
  });
  ReadTroubles(in, from, &ping);
  if (from.waits() == nullptr) return ping;  // of an earlier client
  std::size_t waits = 0;
  ForEach(in, from.waits(), sizeof(fb::PingWait), 8, [&](const fb::PingWait& w) {
    if (waits == ping.models.size()) return;
    PingModel& model = ping.models[waits++];
    model.waited_ns = w.waited();
    model.played_ns = w.played();
  });
  return ping;
}

Pong ReadTable(BodyReader& in, const fb::Pong& from, std::size_t) {
  return {from.sent_ns(), from.incarnation(), ReadCredits(in, from.models())};
}

Goaway ReadTable(BodyReader& in, const fb::Goaway& from, std::size_t) {
  return {in.Sentence(from.reason(), "reason"), from.deadline_ms(), from.restart_expected()};
}

Error ReadTable(BodyReader& in, const fb::Error& from, std::size_t) {
  // A newer peer may know more reasons; its sentence says which.
  const bool known = from.refusal() < kRefusalCount;
  return {known ? static_cast<Refusal>(from.refusal()) : Refusal::kMalformed,
          in.Sentence(from.sentence(), "sentence"), from.sequence()};
}

Bye ReadTable(BodyReader&, const fb::Bye&, std::size_t) { return {}; }

Pull ReadTable(BodyReader& in, const fb::Pull& from, std::size_t) {
  in.Expect(from.credit() >= 1 && from.credit() <= kMaxPullCredit, "credit", "1 to 1024 chunks");
  return {in.Id(from.model()), from.version(), from.offset(), from.credit()};
}

Chunk ReadTable(BodyReader& in, const fb::Chunk& from, std::size_t block_bytes) {
  in.Expect(block_bytes <= kChunkBytes, "chunk", "at most 262144 bytes", Refusal::kTooLarge);
  in.Expect(from.total_bytes() <= kMaxWeightsBytes, "weights", "at most 4 GiB", Refusal::kTooLarge);
  in.Expect(
      from.offset() <= from.total_bytes() && block_bytes <= from.total_bytes() - from.offset(),
      "chunk", "an end inside the weights");
  return {in.Id(from.model()), from.incarnation(), from.version(),
          from.total_bytes(),  from.offset(),      from.hash()};
}

Admin ReadTable(BodyReader& in, const fb::Admin& from, std::size_t) {
  return {in.Sentence(from.command(), "command")};
}

AdminOk ReadTable(BodyReader& in, const fb::AdminOk& from, std::size_t) {
  return {from.ok(), in.Text(from.text(), "text", kMaxReport)};
}

Settings ReadTable(BodyReader& in, const fb::Settings& from, std::size_t) {
  Settings settings{from.revision(), {}};
  in.Expect(settings.revision >= 1 && settings.revision <= 65'535, "revision", "1 to 65535");
  const std::size_t count = in.Count(from.settings(), "settings", kMaxSettings, 4, 4);
  for (std::size_t i = 0; i < count && in.ok(); ++i) {
    const fb::Setting& setting = *from.settings()->Get(static_cast<flatbuffers::uoffset_t>(i));
    settings.settings.push_back({in.Name(setting.name(), "setting name"), setting.value()});
    in.Expect(std::isfinite(setting.value()), "setting", "a finite value", Refusal::kNotFinite);
  }
  return settings;
}

Join ReadTable(BodyReader& in, const fb::Join& from, std::size_t) {
  Join join;
  join.model = in.Name(from.model(), "model");
  join.spec = in.Text(from.spec(), "spec", kMaxSpec);
  join.rule = in.Text(from.rule(), "rule", kMaxSentence);
  join.worker = from.worker();
  join.shard = from.shard();
  join.shards = from.shards();
  join.step = from.step();
  join.host = from.host();
  join.segment = in.Text(from.segment(), "segment name", kMaxSegmentName);
  in.Expect(join.shard < join.shards, "shard", "an index below the number of shards");
  return join;
}

Joined ReadTable(BodyReader& in, const fb::Joined& from, std::size_t) {
  return {from.version(), from.begin(), from.count(),
          from.empty(),   from.step(),  in.Text(from.segment(), "segment name", kMaxSegmentName)};
}

Push ReadTable(BodyReader& in, const fb::Push& from, std::size_t block_bytes) {
  in.Expect(block_bytes % sizeof(float) == 0, "push", "whole floats");
  in.Expect(from.learning_rate() >= 0.0 && from.learning_rate() <= 1e6, "learning rate",
            "a number from 0 to a million", Refusal::kNotFinite);
  return {from.step(), from.pulled(), from.learning_rate(), from.turn()};
}

Center ReadTable(BodyReader& in, const fb::Center& from, std::size_t block_bytes) {
  in.Expect(block_bytes % sizeof(float) == 0, "center", "whole floats");
  return {from.step(),     from.version(), from.staleness(),
          from.distance(), from.merged(),  from.kept()};
}

Alive ReadTable(BodyReader&, const fb::Alive& from, std::size_t) { return {from.waiting()}; }

template <typename Table>
Complaint ReadRoot(std::span<const std::byte> metadata, std::size_t block_bytes, Body* body) {
  return ReadRoot<Table>(metadata, body, [block_bytes](BodyReader& in, const Table& table) -> Body {
    return ReadTable(in, table, block_bytes);
  });
}

}  // namespace

Complaint ReadBody(MessageType type, std::span<const std::byte> metadata, std::size_t block_bytes,
                   Body* body) {
  switch (type) {
    case MessageType::kHello:
      return ReadRoot<fb::Hello>(metadata, block_bytes, body);
    case MessageType::kHelloOk:
      return ReadRoot<fb::HelloOk>(metadata, block_bytes, body);
    case MessageType::kExperience:
      return ReadRoot<fb::Experience>(metadata, block_bytes, body);
    case MessageType::kAccepted:
      return ReadRoot<fb::Accepted>(metadata, block_bytes, body);
    case MessageType::kPing:
      return ReadRoot<fb::Ping>(metadata, block_bytes, body);
    case MessageType::kPong:
      return ReadRoot<fb::Pong>(metadata, block_bytes, body);
    case MessageType::kGoaway:
      return ReadRoot<fb::Goaway>(metadata, block_bytes, body);
    case MessageType::kError:
      return ReadRoot<fb::Error>(metadata, block_bytes, body);
    case MessageType::kBye:
      return ReadRoot<fb::Bye>(metadata, block_bytes, body);
    case MessageType::kPull:
      return ReadRoot<fb::Pull>(metadata, block_bytes, body);
    case MessageType::kChunk:
      return ReadRoot<fb::Chunk>(metadata, block_bytes, body);
    case MessageType::kAdmin:
      return ReadRoot<fb::Admin>(metadata, block_bytes, body);
    case MessageType::kAdminOk:
      return ReadRoot<fb::AdminOk>(metadata, block_bytes, body);
    case MessageType::kSettings:
      return ReadRoot<fb::Settings>(metadata, block_bytes, body);
    case MessageType::kCommitted:
      return ReadRoot<fb::Committed>(metadata, block_bytes, body);
    case MessageType::kJoin:
      return ReadRoot<fb::Join>(metadata, block_bytes, body);
    case MessageType::kJoined:
      return ReadRoot<fb::Joined>(metadata, block_bytes, body);
    case MessageType::kPush:
      return ReadRoot<fb::Push>(metadata, block_bytes, body);
    case MessageType::kCenter:
      return ReadRoot<fb::Center>(metadata, block_bytes, body);
    case MessageType::kAlive:
      return ReadRoot<fb::Alive>(metadata, block_bytes, body);
    case MessageType::kStreamHello:
    case MessageType::kStreamOk:
    case MessageType::kSample:
    case MessageType::kForecast:
    case MessageType::kTaken:
    case MessageType::kRefused:
    case MessageType::kSamplesCommitted:
      return ReadStreamBody(type, metadata, body);
    case MessageType::kInfer:
    case MessageType::kInferOk:
      break;
  }
  return {Refusal::kUnknownType, "this message type is reserved"};
}

}  // namespace murmurate::wire
