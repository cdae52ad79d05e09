// A Predictor's session and its answers, without a stream: when it says hello, when it asks, when
// it gives up, and where an answer lies until it is popped.
#include "client/stream_session.h"

#include <gmock/gmock.h>

#include "client/answer_slots.h"

namespace murmurate {
namespace {

using Due = StreamSession::Due;
using ::testing::ElementsAre;

constexpr std::int64_t kMs = kNanosecondsPerMillisecond;

class StreamSessionTest : public testing::Test {
 protected:
  Due After(std::int64_t ms) { return session_.OnTick(now_ns_ += ms * kMs); }
  void Welcome() {
    wire::StreamOk ok;
    ok.number = session_.hello_number();
    ASSERT_TRUE(session_.OnOk(ok));
    wire::SamplesCommitted committed;
    committed.devices = {{"pump", 7}};
    committed.complete = true;
    session_.OnCommitted(committed);
    session_.OnHeard(now_ns_);
  }

  std::int64_t now_ns_ = kNanosecondsPerSecond;
  StreamSession session_;
};

TEST_F(StreamSessionTest, HelloIsRepeatedEverLessOftenUpToASecond) {
  std::vector<std::int64_t> waits;
  EXPECT_EQ(After(0), Due::kHello);
  for (std::int64_t waited = 1; waits.size() < 11; ++waited) {
    if (After(1) == Due::kNothing) continue;
    waits.push_back(waited);
    waited = 0;
  }
  EXPECT_THAT(waits, ElementsAre(2, 4, 8, 16, 32, 64, 128, 256, 512, 1000, 1000));
}

TEST_F(StreamSessionTest, ItIsLiveWhenAllThatIsCommittedHasCome) {
  EXPECT_EQ(After(0), Due::kHello);
  wire::StreamOk ok;
  ok.number = 1;
  EXPECT_TRUE(session_.OnOk(ok));
  EXPECT_FALSE(session_.live());
  session_.OnCommitted({{{"pump", 7}}, false});
  EXPECT_FALSE(session_.live());
  session_.OnCommitted({{{"fan", 9}}, true});
  EXPECT_TRUE(session_.live());
  EXPECT_EQ(session_.Committed("pump"), 7u);
  EXPECT_EQ(session_.Committed("valve"), std::nullopt);
}

TEST_F(StreamSessionTest, ItAsksAfterHalfASecondAndGivesUpThreeSecondsAfterTheFirstQuestion) {
  EXPECT_EQ(After(0), Due::kHello);
  Welcome();
  EXPECT_EQ(After(499), Due::kNothing);
  EXPECT_EQ(After(1), Due::kPing);
  for (int ms = 500; ms < 3000; ms += 500) EXPECT_EQ(After(500), Due::kPing) << ms;
  EXPECT_EQ(After(499), Due::kNothing);
  EXPECT_EQ(After(1), Due::kLost);
  session_.OnHeard(now_ns_);
  EXPECT_EQ(After(1), Due::kNothing) << "any word heals it";
}

TEST_F(StreamSessionTest, AfterALossHelloIsDueAtOnceAndAnEarlierAnswerIsOfNoUse) {
  EXPECT_EQ(After(0), Due::kHello);
  Welcome();
  session_.OnLost("gone");
  EXPECT_EQ(session_.reason(), "gone");
  EXPECT_EQ(After(0), Due::kHello);
  wire::StreamOk late;
  late.number = session_.hello_number() - 1;
  EXPECT_FALSE(session_.OnOk(late));
  Welcome();
  EXPECT_TRUE(session_.live());
  EXPECT_EQ(session_.sessions(), 2u);
}

TEST_F(StreamSessionTest, RefusedItAsksAgainAfterFiveSecondsAndSaysAReasonOnce) {
  EXPECT_EQ(After(0), Due::kHello);
  wire::Error error;
  error.refusal = wire::Refusal::kSpaces;
  error.sentence = "other fields";
  EXPECT_TRUE(session_.OnRefused(error, now_ns_));
  EXPECT_FALSE(session_.OnRefused(error, now_ns_));
  EXPECT_TRUE(session_.refused());
  EXPECT_EQ(After(4999), Due::kNothing);
  EXPECT_EQ(After(1), Due::kHello);
}

TEST(AnswerSlots, AnswersArePoppedAsTheyCameAndASlotIsTakenUntilThen) {
  AnswerSlots slots;
  EXPECT_FALSE(slots.has_room());
  slots.Resize(2);
  slots.Open("a", {});
  slots.Open("b", {});
  EXPECT_FALSE(slots.has_room());
  EXPECT_EQ(slots.Find(3), nullptr);
  slots.Finish(2, Predictor::Outcome::kTaken);
  EXPECT_EQ(slots.Find(2), nullptr) << "it has its answer";
  EXPECT_FALSE(slots.has_room()) << "the third one's slot is the first one's";
  slots.FinishAll();
  slots.Resize(5);
  EXPECT_EQ(slots.in_flight(), 2u) << "what waits to be popped keeps its place";
  Predictor::Answer answer;
  slots.Pop(&answer);
  EXPECT_EQ(answer.device, "b");
  EXPECT_EQ(answer.outcome, Predictor::Outcome::kTaken);
  EXPECT_FALSE(slots.has_room());
  slots.Pop(&answer);
  EXPECT_EQ(answer.device, "a");
  EXPECT_EQ(answer.outcome, Predictor::Outcome::kUnanswered);
  EXPECT_TRUE(slots.has_room());
  EXPECT_EQ(slots.in_flight(), 0u);
}

}  // namespace
}  // namespace murmurate
