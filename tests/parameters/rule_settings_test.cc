#include "server/parameters/rule_settings.h"

#include <gtest/gtest.h>

#include <limits>
#include <string>

namespace murmurate {
namespace {

constexpr RuleName kAll[] = {RuleName::kHogwild, RuleName::kAsgd,   RuleName::kDownpour,
                             RuleName::kAgn,     RuleName::kAdag,   RuleName::kDynSgd,
                             RuleName::kSync,    RuleName::kSagn,   RuleName::kEasgd,
                             RuleName::kAeasgd,  RuleName::kAeamsgd};

TEST(RuleSettingsTest, EveryNameIsItsText) {
  for (const RuleName name : kAll) EXPECT_EQ(Named<RuleName>(TextOf(name)), name);
  EXPECT_EQ(Named<RuleName>("easgdd"), std::nullopt);
  EXPECT_EQ(Named<RuleName>(""), std::nullopt);
  EXPECT_EQ(Named<PushForm>("gradient"), PushForm::kGradient);
  EXPECT_EQ(Named<PushForm>("delta"), PushForm::kDelta);
  EXPECT_EQ(Named<PushForm>("elastic"), PushForm::kElastic);
}

TEST(RuleSettingsTest, WhatIsUsualIsAllowed) {
  for (const RuleName name : kAll) {
    const Status status = CheckRule(DefaultRule(name, 4));
    EXPECT_TRUE(status.ok()) << status;
  }
  EXPECT_EQ(DefaultRule(RuleName::kAgn, 4).window, 12);
  EXPECT_EQ(DefaultRule(RuleName::kAgn, 4).form, PushForm::kDelta);
  EXPECT_EQ(DefaultRule(RuleName::kDownpour, 4).form, PushForm::kGradient);
  EXPECT_DOUBLE_EQ(DefaultRule(RuleName::kAeasgd, 6).elastic, 0.15);  // the authors' demo, p = 6
}

// asgd is T = 1 by definition; a mean of T moves the center by 1/T of the way, so T is far below
// the 32 updates of a batch; sums are sent as ways and not as gradients.
TEST(RuleSettingsTest, ManyUpdatesOfABatchAreExchangedSoThatNoneIsLost) {
  const struct {
    RuleName name;
    PushForm form;
    int window;
  } kDefaults[] = {{RuleName::kAsgd, PushForm::kGradient, 1},
                   {RuleName::kDownpour, PushForm::kDelta, kWholeBatch},
                   {RuleName::kAgn, PushForm::kDelta, 4},
                   {RuleName::kAdag, PushForm::kDelta, 4},
                   {RuleName::kDynSgd, PushForm::kDelta, kWholeBatch},
                   {RuleName::kSync, PushForm::kGradient, 1},
                   {RuleName::kSagn, PushForm::kGradient, 4},
                   {RuleName::kEasgd, PushForm::kElastic, 1},
                   {RuleName::kAeasgd, PushForm::kElastic, kWholeBatch},
                   {RuleName::kAeamsgd, PushForm::kElastic, kWholeBatch}};
  for (const auto& defaults : kDefaults) {
    const RuleSettings rule = DefaultRuleOfManyUpdates(defaults.name, 2);
    EXPECT_EQ(rule.form, defaults.form) << TextOf(defaults.name);
    EXPECT_EQ(rule.window, defaults.window) << TextOf(defaults.name);
    EXPECT_TRUE(CheckRule(rule).ok()) << TextOf(defaults.name);
  }
  for (const RuleName name : {RuleName::kDownpour, RuleName::kDynSgd})
    EXPECT_EQ(DefaultRuleOfManyUpdates(name, 2, PushForm::kGradient).window,
              DefaultRule(name, 2).window);
}

TEST(RuleSettingsTest, WhatCannotBeIsRefusedInOneSentence) {
  RuleSettings rule = DefaultRule(RuleName::kSync, 2);
  rule.form = PushForm::kDelta;
  EXPECT_EQ(
      CheckRule(rule).message(),
      "parameters.form: got \"delta\", expected \"gradient\", the only one that sync has; take "
      "the line out");
  rule = DefaultRule(RuleName::kAeasgd, 2);
  rule.form = PushForm::kGradient;
  EXPECT_EQ(CheckRule(rule).message(),
            "parameters.form: got \"gradient\", expected no such line, because aeasgd pushes its "
            "parameters; take it out");
  rule = DefaultRule(RuleName::kAgn, 2);
  rule.window = 0;
  EXPECT_EQ(CheckRule(rule).message(),
            "parameters.window: got 0, expected at least 1 gradient from one exchange to the next");
  for (const double bad : {-0.1, 1.1, std::numeric_limits<double>::quiet_NaN()}) {
    rule = DefaultRule(RuleName::kEasgd, 2);
    rule.elastic = bad;
    EXPECT_FALSE(CheckRule(rule).ok()) << bad;
  }
  for (const double bad : {0.0, -1.0, std::numeric_limits<double>::infinity()}) {
    rule = DefaultRule(RuleName::kAdag, 2);
    rule.adag_scale = bad;
    EXPECT_FALSE(CheckRule(rule).ok()) << bad;
  }
}

TEST(RuleSettingsTest, WorkersStepLocallyWhereThePushIsNotAllThatMovesThem) {
  EXPECT_FALSE(StepsLocally({.name = RuleName::kAsgd}));
  EXPECT_FALSE(StepsLocally({.name = RuleName::kDownpour}));
  EXPECT_TRUE(StepsLocally({.name = RuleName::kDownpour, .window = 2}));
  EXPECT_TRUE(StepsLocally({.name = RuleName::kDownpour, .form = PushForm::kDelta}));
  EXPECT_FALSE(StepsLocally({.name = RuleName::kSync, .window = 2}));
  EXPECT_TRUE(StepsLocally({.name = RuleName::kSagn, .window = 2}));
  EXPECT_TRUE(StepsLocally({.name = RuleName::kEasgd, .form = PushForm::kElastic}));
}

TEST(RuleSettingsTest, PropertiesAreThoseOfTheRules) {
  for (const RuleName name : kAll) {
    const std::string text = TextOf(name);
    EXPECT_EQ(IsSynchronous(name), text == "sync" || text == "sagn" || text == "easgd");
    EXPECT_EQ(AnswerIsElastic(name), text == "aeasgd" || text == "aeamsgd");
    EXPECT_EQ(NeedsPulledCopy(name), text == "adag");
    EXPECT_EQ(SharesMemory(name), text == "hogwild");
    const bool usually_deltas = text == "agn" || text == "adag" || text == "dynsgd";
    EXPECT_EQ(WorkerKeepsPulled(DefaultRule(name, 1)), usually_deltas || text == "easgd");
    EXPECT_EQ(PushesGradient(DefaultRule(name, 1)),
              !usually_deltas && !text.ends_with("easgd") && text != "aeamsgd");
  }
}

}  // namespace
}  // namespace murmurate
