#include "client/policy_set.h"

#include <gtest/gtest.h>

#include <optional>
#include <thread>
#include <vector>

#include "shared/core/clock.h"
#include "shared/model/parameter_layout.h"
#include "shared/model/policy_and_value.h"
#include "tests/client/workbench.h"

namespace murmurate {
namespace {

/// A policy whose logits are all its version, from a block large enough that packing takes a while:
/// weights 0 but for the head's biases.
PolicyAndValue FlatSpec() {
  PolicyAndValue spec;
  spec.spaces = {Box({16}), Discrete(256)};
  spec.trunk = {{64, Activation::kTanh}};
  return spec;
}

struct Table {
  PolicyAndValue spec = FlatSpec();
  ParameterLayout layout{spec};
  std::shared_ptr<PolicyPins> pins = std::make_shared<PolicyPins>();
  PolicySet set{spec, pins};
  AlignedFloats parameters{layout.total};

  void Publish(std::uint64_t version) {
    const TensorSlot& bias = layout.Find("policy.head.bias");
    for (std::size_t i = 0; i < bias.count; ++i) {
      parameters[bias.offset + i] = static_cast<float>(version);
    }
    const std::span<const float> flat = parameters;
    set.Publish({1, version}, {}, flat.subspan(layout.published.offset, layout.published.count),
                flat.subspan(layout.statistics.offset, layout.statistics.count));
  }
};

struct Reader {
  explicit Reader(Table& shared_table) : table(shared_table) { table.pins->Add(&pin); }
  ~Reader() { table.pins->Remove(&pin); }

  /// The one version all logits agree on; nothing when they do not.
  std::optional<std::uint64_t> Run() {
    hold.buffer->policy.Forward(observation.data(), 1, logits.data(), scratch.data());
    for (const float logit : logits) {
      if (logit != logits[0]) return std::nullopt;
    }
    return static_cast<std::uint64_t>(logits[0]);
  }
  bool PinLatest() {
    const bool pinned = table.set.PinLatest(&pin, &hold);
    pin.playing.store(hold.buffer);
    return pinned;
  }

  Table& table;
  PolicyPin pin;
  PolicyHold hold;
  std::vector<float> observation = std::vector<float>(16), logits = std::vector<float>(256);
  AlignedFloats scratch{Policy(FlatSpec()).ScratchFloats(1)};
};

TEST(PolicySet, HasNothingUntilTheFirstVersion) {
  Table table;
  Reader reader(table);
  EXPECT_TRUE(table.set.empty());
  EXPECT_FALSE(reader.PinLatest());
  table.Publish(3);
  ASSERT_TRUE(reader.PinLatest());
  EXPECT_EQ(reader.hold.buffer->stamp, (VersionStamp{1, 3}));
  EXPECT_EQ(reader.Run(), 3u);
  PolicySet::Unpin(&reader.pin);
}

TEST(PolicySet, APolicyNobodyPlaysGivesWayBeforeAnOlderOneThatIsPlayed) {
  Table table;
  Reader reader(table);
  table.Publish(1);
  ASSERT_TRUE(reader.PinLatest());
  PolicySet::Unpin(&reader.pin);
  for (std::uint64_t version = 2; version < 20; ++version) table.Publish(version);
  ASSERT_TRUE(PolicySet::Pin(&reader.pin, reader.hold));
  EXPECT_EQ(reader.Run(), 1u);
  PolicySet::Unpin(&reader.pin);
}

TEST(PolicySet, ABufferThatWasTakenCannotBePinnedAgain) {
  Table table;
  Reader reader(table);
  table.Publish(1);
  ASSERT_TRUE(reader.PinLatest());
  PolicySet::Unpin(&reader.pin);
  reader.pin.playing.store(nullptr);
  for (std::uint64_t version = 2; version < 5; ++version) table.Publish(version);
  EXPECT_FALSE(PolicySet::Pin(&reader.pin, reader.hold));
  EXPECT_EQ(reader.pin.pinned.load(), nullptr);
}

TEST(PolicySet, AWriterWaitsForWhoeverIsInsideAct) {
  Table table;
  Reader first(table), second(table);
  table.Publish(1);
  ASSERT_TRUE(first.PinLatest());
  table.Publish(2);
  ASSERT_TRUE(second.PinLatest());
  table.Publish(3);
  std::atomic<bool> published{false};
  std::thread writer(
      [&] { table.Publish(4), published = true; });  // only the first's buffer is left
  EXPECT_TRUE(Soon([&] { return first.hold.buffer->generation.load() != first.hold.generation; }));
  for (int i = 0; i < 2000 && !published.load(); ++i) {
    ASSERT_EQ(first.Run(), 1u) << "its numbers changed while they were in use";
  }
  EXPECT_FALSE(published.load());
  PolicySet::Unpin(&first.pin);
  EXPECT_TRUE(Soon([&] { return published.load(); }));
  writer.join();
  EXPECT_FALSE(PolicySet::Pin(&first.pin, first.hold));
}

TEST(PolicySet, ABufferThatIsBeingWrittenIsNotTakenForTheLatest) {
  Table table;
  Reader reader(table);
  table.Publish(1);
  ASSERT_TRUE(reader.PinLatest());
  PolicySet::Unpin(&reader.pin);
  // What an agent meets when `latest` moved on, and its buffer was taken, just after it had read
  // it.
  auto& generation = const_cast<std::atomic<std::uint64_t>&>(reader.hold.buffer->generation);
  generation.fetch_add(1);
  std::atomic<bool> pinned{false};
  std::thread agent([&] {
    PolicyHold hold;
    PolicyPin pin;
    table.set.PinLatest(&pin, &hold);
    pinned = true;
  });
  for (int i = 0; i < 50; ++i) {
    EXPECT_FALSE(pinned.load());
    std::this_thread::yield();
  }
  generation.fetch_add(1);
  EXPECT_TRUE(Soon([&] { return pinned.load(); }));
  agent.join();
}

TEST(PolicySet, UnderHammeringEveryPassIsOfOneWholeVersion) {
  Table table;
  table.Publish(1);
  std::atomic<bool> over{false};
  std::atomic<std::uint64_t> passes{0};
  std::uint64_t cuts = 0, wrong = 0;
  std::thread agent([&] {
    // Three that stay on one version while they can, and do not say so: buffers are taken from
    // them.
    std::vector<std::unique_ptr<Reader>> readers;
    for (int i = 0; i < 3; ++i) readers.push_back(std::make_unique<Reader>(table));
    for (std::uint64_t step = 0; !over.load(); ++step) {
      Reader& reader = *readers[step % 3];
      if (reader.hold.buffer == nullptr || !PolicySet::Pin(&reader.pin, reader.hold)) {
        ++cuts;
        table.set.PinLatest(&reader.pin, &reader.hold);
      }
      const std::uint64_t stamped = reader.hold.buffer->stamp.version;
      wrong += reader.Run() != stamped;
      PolicySet::Unpin(&reader.pin);
      ++passes;
    }
  });
  const std::int64_t end = MonotonicNs() + kNanosecondsPerSecond / 2;
  std::uint64_t version = 1;
  while (MonotonicNs() < end || (passes < 1000 && version < 1000000)) table.Publish(++version);
  over.store(true);
  agent.join();
  EXPECT_EQ(wrong, 0u);
  EXPECT_GT(cuts, 100u);
  EXPECT_GT(passes.load(), 1000u);
}

TEST(PolicySet, AVersionThatNeverBecameWholeIsPlayedByNobodyAndTheNextBeginsInItsPlace) {
  Table table;
  Reader reader(table);
  table.Publish(1);
  table.Publish(2);
  ASSERT_TRUE(reader.PinLatest());
  PolicySet::Unpin(&reader.pin);
  const std::vector<float> half(table.layout.published.count / 2, 7.0f);
  for (int torn = 0; torn < 5; ++torn) {
    table.set.Begin();
    table.set.Put(0, half);
    ASSERT_TRUE(PolicySet::Pin(&reader.pin, reader.hold));
    EXPECT_EQ(reader.Run(), 2u);
    PolicySet::Unpin(&reader.pin);
  }
  EXPECT_EQ(table.set.stamp(), (VersionStamp{1, 2}));
  table.Publish(3);
  ASSERT_TRUE(PolicySet::Pin(&reader.pin, reader.hold)) << "the buffer before is still there";
  EXPECT_EQ(reader.Run(), 2u);
  ASSERT_TRUE(reader.PinLatest());
  EXPECT_EQ(reader.Run(), 3u);
  PolicySet::Unpin(&reader.pin);
}

TEST(PolicySet, WhatIsKeptForSavingIsTheNewestVersion) {
  Table table;
  table.Publish(1);
  table.Publish(2);
  VersionStamp stamp;
  const AlignedFloats kept = table.set.Parameters(&stamp);
  EXPECT_EQ(stamp, (VersionStamp{1, 2}));
  EXPECT_EQ(kept[table.layout.Find("policy.head.bias").offset], 2.0f);
}

}  // namespace
}  // namespace murmurate
