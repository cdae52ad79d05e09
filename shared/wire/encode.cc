#include <flatbuffers/flatbuffers.h>

#include <cstring>

#include "murmurate_generated.h"
#include "shared/wire/limits.h"
#include "shared/wire/little_endian.h"
#include "shared/wire/messages.h"

namespace murmurate::wire {
namespace {

using Builder = flatbuffers::FlatBufferBuilder;
template <typename T>
using Offset = flatbuffers::Offset<T>;

Offset<flatbuffers::String> Cut(Builder& builder, const std::string& text, std::size_t limit) {
  return builder.CreateString(text.data(), std::min(text.size(), limit));
}

fb::Id ToId(const std::array<std::uint8_t, 16>& id) {
  const auto* bytes = reinterpret_cast<const std::byte*>(id.data());
  return {GetLittleEndian<std::uint64_t>(bytes), GetLittleEndian<std::uint64_t>(bytes + 8)};
}

auto Credits(Builder& builder, const std::vector<ModelCredit>& models) {
  std::vector<fb::ModelCredit> credits;
  for (const ModelCredit& m : models) credits.emplace_back(m.steps_total, m.at_version, m.version);
  return builder.CreateVectorOfStructs(credits);
}

/// Columns at the end of the list that hold nothing are left out: a plain trajectory has 8.
std::size_t ColumnsUsed(const Experience& e) {
  std::size_t used = kColumnCount;
  while (used > kPlainColumnCount && e.columns[used - 1].bytes == 0) --used;
  return used;
}

struct Writer {
  Builder& builder;

  MessageType operator()(const Hello& hello) {
    std::vector<Offset<fb::HelloModel>> models;
    for (const HelloModel& m : hello.models) {
      models.push_back(fb::CreateHelloModel(
          builder, builder.CreateString(m.name), builder.CreateString(m.spaces),
          builder.CreateVector(m.agents), m.holds_incarnation, m.holds_version));
    }
    builder.Finish(fb::CreateHello(
        builder, hello.min_major, hello.max_major, builder.CreateString(hello.actor_name),
        hello.host_identity, static_cast<std::uint8_t>(hello.pace), hello.accept_reset, hello.pid,
        builder.CreateVector(models), hello.number, hello.sequence));
    return MessageType::kHello;
  }

  MessageType operator()(const HelloOk& ok) {
    std::vector<Offset<fb::HelloOkModel>> models;
    for (const HelloOkModel& m : ok.models) {
      const fb::Id id = ToId(m.id);
      models.push_back(fb::CreateHelloOkModel(
          builder, builder.CreateString(m.name), &id, m.member, builder.CreateString(m.spec),
          m.version, m.trajectory_length, m.max_trajectory_ms, builder.CreateString(m.segment),
          builder.CreateVector(m.agent_indices), builder.CreateVector(m.agent_seeds), m.steps_total,
          m.at_version));
    }
    builder.Finish(fb::CreateHelloOk(
        builder, ok.incarnation, ok.resumed, ok.heartbeat_ms, ok.max_message_bytes, ok.bytes_total,
        builder.CreateString(ok.announce_address), builder.CreateString(ok.weights_address),
        builder.CreateVector(models), ok.session, ok.number, ok.sequence, ok.kept_sequence));
    return MessageType::kHelloOk;
  }

  MessageType operator()(const Experience& e) {
    std::array<fb::ColumnRange, kColumnCount> columns;
    for (int i = 0; i < kColumnCount; ++i) {
      columns[i] = fb::ColumnRange(e.columns[i].offset, e.columns[i].bytes);
    }
    std::vector<Offset<fb::Report>> reports;
    for (const ReportedNumber& r : e.reports) {
      reports.push_back(fb::CreateReport(builder, builder.CreateString(r.name), r.sum, r.count));
    }
    // Absent when there are none: nearly always.
    const auto reported = reports.empty() ? 0 : builder.CreateVector(reports);
    builder.Finish(fb::CreateExperience(
        builder, e.model, e.agent, e.incarnation, e.version, e.first_step, e.steps, e.agent_steps,
        builder.CreateVectorOfStructs(columns.data(), ColumnsUsed(e)), reported));
    return MessageType::kExperience;
  }

  MessageType operator()(const Accepted& accepted) {
    builder.Finish(fb::CreateAccepted(builder, accepted.sequence, accepted.bytes_total,
                                      Credits(builder, accepted.models)));
    return MessageType::kAccepted;
  }

  MessageType operator()(const Committed& committed) {
    builder.Finish(fb::CreateCommitted(builder, committed.model, committed.sequence,
                                       committed.trajectories, committed.steps));
    return MessageType::kCommitted;
  }

  MessageType operator()(const Ping& ping) {
    std::vector<fb::PingModel> models;
    for (const PingModel& m : ping.models) models.emplace_back(m.steps, m.dropped_steps, m.version);
    std::vector<fb::PingWait> waits;
    for (const PingModel& m : ping.models) waits.emplace_back(m.waited_ns, m.played_ns);
    std::vector<Offset<fb::PingTrouble>> troubles;
    for (const PingTrouble& t : ping.troubles) {
      if (troubles.size() == kMaxPingTroubles) break;
      troubles.push_back(fb::CreatePingTrouble(builder, t.model, t.agent, t.agents,
                                               Cut(builder, t.sentence, kMaxTrouble)));
    }
    const auto told = builder.CreateVectorOfStructs(models);
    const auto waited = builder.CreateVectorOfStructs(waits);
    const auto wrong = troubles.empty() ? 0 : builder.CreateVector(troubles);
    builder.Finish(fb::CreatePing(builder, ping.sent_ns, told, waited, wrong));
    return MessageType::kPing;
  }

  MessageType operator()(const Pong& pong) {
    builder.Finish(
        fb::CreatePong(builder, pong.sent_ns, pong.incarnation, Credits(builder, pong.models)));
    return MessageType::kPong;
  }

  MessageType operator()(const Goaway& goaway) {
    builder.Finish(fb::CreateGoaway(builder, Cut(builder, goaway.reason, kMaxSentence),
                                    goaway.deadline_ms, goaway.restart_expected));
    return MessageType::kGoaway;
  }

  MessageType operator()(const Error& error) {
    builder.Finish(fb::CreateError(builder, static_cast<std::uint16_t>(error.refusal),
                                   Cut(builder, error.sentence, kMaxSentence), error.sequence));
    return MessageType::kError;
  }

  MessageType operator()(const Bye&) {
    builder.Finish(fb::CreateBye(builder));
    return MessageType::kBye;
  }

  MessageType operator()(const Pull& pull) {
    const fb::Id id = ToId(pull.model);
    builder.Finish(fb::CreatePull(builder, &id, pull.version, pull.offset, pull.credit));
    return MessageType::kPull;
  }

  MessageType operator()(const Chunk& chunk) {
    const fb::Id id = ToId(chunk.model);
    builder.Finish(fb::CreateChunk(builder, &id, chunk.incarnation, chunk.version,
                                   chunk.total_bytes, chunk.offset, chunk.hash));
    return MessageType::kChunk;
  }

  MessageType operator()(const Admin& admin) {
    builder.Finish(fb::CreateAdmin(builder, Cut(builder, admin.command, kMaxSentence)));
    return MessageType::kAdmin;
  }

  MessageType operator()(const AdminOk& ok) {
    builder.Finish(fb::CreateAdminOk(builder, ok.ok, Cut(builder, ok.text, kMaxReport)));
    return MessageType::kAdminOk;
  }

  MessageType operator()(const Settings& settings) {
    std::vector<Offset<fb::Setting>> all;
    for (const Setting& s : settings.settings) {
      all.push_back(fb::CreateSetting(builder, builder.CreateString(s.name), s.value));
    }
    builder.Finish(fb::CreateSettings(builder, settings.revision, builder.CreateVector(all)));
    return MessageType::kSettings;
  }

  MessageType operator()(const Join& join) {
    builder.Finish(fb::CreateJoin(builder, builder.CreateString(join.model),
                                  builder.CreateString(join.spec), builder.CreateString(join.rule),
                                  join.worker, join.shard, join.shards, join.step, join.host,
                                  builder.CreateString(join.segment)));
    return MessageType::kJoin;
  }

  MessageType operator()(const Joined& joined) {
    builder.Finish(fb::CreateJoined(builder, joined.version, joined.begin, joined.count,
                                    joined.empty, joined.step,
                                    builder.CreateString(joined.segment)));
    return MessageType::kJoined;
  }

  MessageType operator()(const Push& push) {
    builder.Finish(fb::CreatePush(builder, push.step, push.pulled, push.learning_rate, push.turn));
    return MessageType::kPush;
  }

  MessageType operator()(const Center& center) {
    builder.Finish(fb::CreateCenter(builder, center.step, center.version, center.staleness,
                                    center.distance, center.merged, center.kept));
    return MessageType::kCenter;
  }

  MessageType operator()(const Alive& alive) {
    builder.Finish(fb::CreateAlive(builder, alive.waiting));
    return MessageType::kAlive;
  }

  MessageType operator()(const StreamHello& hello) {
    const auto name = builder.CreateString(hello.name), stream = builder.CreateString(hello.stream);
    builder.Finish(fb::CreateStreamHello(builder, hello.min_major, hello.max_major, name, stream,
                                         builder.CreateVectorOfStrings(hello.fields), hello.number,
                                         hello.sequence));
    return MessageType::kStreamHello;
  }

  MessageType operator()(const StreamOk& ok) {
    const auto stream = builder.CreateString(ok.stream);
    const auto fields = builder.CreateVectorOfStrings(ok.fields);
    const auto targets = builder.CreateVector(ok.targets);
    const auto horizons = builder.CreateVector(ok.horizons);
    builder.Finish(fb::CreateStreamOk(builder, ok.incarnation, ok.number, ok.credit, stream, fields,
                                      targets, horizons, builder.CreateVector(ok.quantiles)));
    return MessageType::kStreamOk;
  }

  MessageType operator()(const Sample& sample) {
    const auto device = builder.CreateString(sample.device);
    const auto id = sample.id.empty() ? 0 : builder.CreateString(sample.id);
    const auto values = builder.CreateVector(sample.values);
    fb::SampleBuilder table(builder);
    table.add_device(device);
    table.add_time_ns(sample.time_ns);
    if (sample.sequence) table.add_sequence(*sample.sequence);
    if (!sample.id.empty()) table.add_id(id);
    table.add_values(values);
    builder.Finish(table.Finish());
    return MessageType::kSample;
  }

  MessageType operator()(const Forecast& forecast) {
    fb::ForecastValue* values = nullptr;
    const auto list = builder.CreateUninitializedVectorOfStructs(forecast.values.size(), &values);
    for (const ForecastValue& v : forecast.values)
      *values++ = fb::ForecastValue(v.forecast, v.model, v.baseline, v.error, v.baseline_error,
                                    v.coverage, v.count, v.by_model ? 1 : 0);
    const auto due = builder.CreateVector(forecast.due_ns);
    builder.Finish(fb::CreateForecast(builder, forecast.row, forecast.time_ns, forecast.version,
                                      forecast.alarm, due, list,
                                      builder.CreateVector(forecast.quantiles)));
    return MessageType::kForecast;
  }

  MessageType operator()(const Taken&) {
    builder.Finish(fb::CreateTaken(builder));
    return MessageType::kTaken;
  }

  MessageType operator()(const Refused& refused) {
    const auto word = Cut(builder, refused.word, kMaxSentence);
    builder.Finish(fb::CreateRefused(builder, word, Cut(builder, refused.sentence, kMaxSentence)));
    return MessageType::kRefused;
  }

  MessageType operator()(const SamplesCommitted& committed) {
    std::vector<Offset<fb::DeviceCommitted>> devices;
    for (const DeviceCommitted& d : committed.devices)
      devices.push_back(
          fb::CreateDeviceCommitted(builder, builder.CreateString(d.device), d.sequence));
    builder.Finish(
        fb::CreateSamplesCommitted(builder, builder.CreateVector(devices), committed.complete));
    return MessageType::kSamplesCommitted;
  }
};

}  // namespace

Encoded Encode(const Body& body, std::uint64_t sender, std::uint64_t sequence,
               std::size_t block_bytes) {
  Builder builder(512);
  const MessageType type = std::visit(Writer{builder}, body);
  Encoded encoded;
  const auto* start = reinterpret_cast<const std::byte*>(builder.GetBufferPointer());
  encoded.metadata.assign(start, start + builder.GetSize());
  std::byte* header = encoded.header.data();
  PutLittleEndian(header, kMagic);
  PutLittleEndian(header + 4, kMajor);
  PutLittleEndian(header + 5, kMinor);
  PutLittleEndian(header + 6, static_cast<std::uint16_t>(type));
  PutLittleEndian(header + 8, std::uint32_t{0});
  PutLittleEndian(header + 12, static_cast<std::uint32_t>(encoded.metadata.size() + block_bytes));
  PutLittleEndian(header + 16, sender);
  PutLittleEndian(header + 24, sequence);
  return encoded;
}

}  // namespace murmurate::wire
