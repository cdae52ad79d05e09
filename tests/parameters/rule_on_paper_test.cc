// Three steps of every rule, worked on paper. The numbers are sums of powers of two, so the results
// are exact unless a comment says otherwise.
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <span>
#include <vector>

#include "server/parameters/hogwild.h"
#include "server/parameters/merge_round.h"
#include "server/parameters/optimizers.h"
#include "server/parameters/update_rule.h"

namespace murmurate {
namespace {

using Numbers = std::vector<float>;

RuleSettings Rule(RuleName name, PushForm form, int window = 1) {
  return {.name = name, .form = form, .window = window, .elastic = 0.25, .adag_scale = 4.0};
}

/// One parameter, one shard, plain SGD at rate 1/2 on both sides.
struct OnPaper {
  explicit OnPaper(const RuleSettings& settings, float begin = 4.0f)
      : rule(settings), center{begin}, local{begin}, pulled{begin} {}

  /// One gradient on the worker.
  void Learn(float gradient) {
    const Numbers g = {gradient};
    AddToWindow(g, 1.0f, steps++, accumulated);
    if (StepsLocally(rule)) worker.Step(0.5f, 1.0f, g, local);
  }
  Numbers Made() {
    Numbers out(1);
    Contribution(rule, {local, pulled, accumulated, steps}, out);
    steps = 0;
    return out;
  }
  /// Pushes, merges at staleness 0 and adopts; what the worker then has.
  float Exchange(Optimizer& optimizer) {
    const Numbers push = Made();
    Merge(rule, {push, 0, pulled, 0.5f}, center, &optimizer, {});
    Adopt(rule, center, push, local);
    pulled = center;
    EXPECT_EQ(local, center);
    return local[0];
  }
  float Exchange() { return Exchange(shard); }

  const RuleSettings rule;
  Numbers center, local, pulled, accumulated = {0.0f};
  int steps = 0;
  Sgd worker, shard;
};

TEST(RuleOnPaper, Hogwild) {
  for (const bool locking : {false, true}) {
    HogwildParameters shared(Numbers{1, 2}, 1, locking);
    Numbers x(2);
    shared.Step(0, 0.5f, 1.0f, Numbers{2, 0});  // (1 - 1, 2)
    shared.Step(0, 0.5f, 1.0f, Numbers{0, -2});
    shared.Read(0, x);
    EXPECT_EQ(x, (Numbers{0, 3}));
    shared.Step(0, 0.5f, 0.5f, Numbers{4, 8});  // clipped to a half: (0 - 1, 3 - 2)
    shared.Read(0, x);
    EXPECT_EQ(x, (Numbers{-1, 1}));
  }
}

/// Two workers, both of which pulled 4.
TEST(RuleOnPaper, Asgd) {
  const RuleSettings rule = Rule(RuleName::kAsgd, PushForm::kGradient);
  OnPaper a(rule), b(rule);
  a.Learn(2);
  b.Learn(-4);
  EXPECT_EQ(a.Exchange(), 3);  // 4 - 1/2 * 2
  b.center = a.center;
  EXPECT_EQ(b.Exchange(), 5);  // 3 + 1/2 * 4: b's gradient is one merge old and counts whole
  a.center = b.center;
  a.Learn(1);
  EXPECT_EQ(a.Exchange(), 4.5f);
}

/// The paper's: two local steps, their sum to Adagrad at rate 1/2.
TEST(RuleOnPaper, DownpourOfGradients) {
  OnPaper paper(Rule(RuleName::kDownpour, PushForm::kGradient, 2));
  Adagrad adagrad({.epsilon = 0.0f}, 1);
  paper.Learn(1);
  paper.Learn(2);
  EXPECT_EQ(paper.local[0], 2.5f);           // 4 - 1/2 - 1
  EXPECT_EQ(paper.Exchange(adagrad), 3.5f);  // a = 3, sum 9: 4 - 1/2 * 3/3
  paper.Learn(3);
  paper.Learn(1);
  EXPECT_NEAR(paper.Exchange(adagrad), 3.5 - 0.5 * 4 / 5.0, 1e-6);  // a = 4, sum 25
  paper.Learn(-6);
  paper.Learn(-6);
  EXPECT_NEAR(paper.Exchange(adagrad), 3.1 + 0.5 * 12 / 13.0, 1e-6);  // a = -12, sum 169
}

TEST(RuleOnPaper, DownpourOfDeltas) {
  OnPaper paper(Rule(RuleName::kDownpour, PushForm::kDelta, 2));
  paper.Learn(1);
  paper.Learn(2);
  EXPECT_EQ(paper.Exchange(), 2.5f);  // 4 - 1.5
  paper.Learn(2);
  paper.Learn(-1);
  paper.center[0] = 5;                // others moved it meanwhile
  EXPECT_EQ(paper.Exchange(), 4.5f);  // 2.5 -> 2: delta -1/2
  paper.Learn(-1);                    // a batch may end before the window does
  EXPECT_EQ(paper.Exchange(), 5);
}

TEST(RuleOnPaper, Agn) {
  for (const PushForm form : {PushForm::kDelta, PushForm::kGradient}) {
    OnPaper paper(Rule(RuleName::kAgn, form, 2));
    paper.Learn(1);
    paper.Learn(2);
    EXPECT_EQ(paper.Exchange(), 3.25f);  // 4 - 1/2 * (1 + 2)/2
    paper.Learn(1);
    paper.Learn(-3);
    EXPECT_EQ(paper.Exchange(), 3.75f);  // + 1/2 * 1
    paper.Learn(1);
    EXPECT_EQ(paper.Exchange(), 3.25f);  // a window of one: its mean is over one
  }
}

/// Scale 4, so a center moved by d scales with 4 / (d^2 + 4).
TEST(RuleOnPaper, Adag) {
  for (const PushForm form : {PushForm::kDelta, PushForm::kGradient}) {
    OnPaper paper(Rule(RuleName::kAdag, form, 2));
    paper.Learn(1);
    paper.Learn(3);
    EXPECT_EQ(paper.Exchange(), 3);  // unmoved: 4 - 1/2 * 2
    paper.Learn(2);
    paper.Learn(2);
    paper.center[0] = 5;                // moved by 2: a half
    EXPECT_EQ(paper.Exchange(), 4.5f);  // 5 - 1/2 * 1/2 * 2
    paper.Learn(-4);
    paper.Learn(-4);
    paper.center[0] = -1.5f;  // moved by 6: a tenth
    EXPECT_NEAR(paper.Exchange(), -1.5 + 0.2, 1e-6);
  }
}

/// The norm is over all components: moved by (2, 2), 4 / (8 + 4).
TEST(RuleOnPaper, AdagMeasuresTheWholeRange) {
  const Numbers push = {3, 0}, pulled = {1, 1};
  Numbers center = {3, -1};
  const float scale = Merge(Rule(RuleName::kAdag, PushForm::kDelta),
                            {.contribution = push, .pulled = pulled}, center, nullptr, {});
  EXPECT_NEAR(scale, 1.0 / 3, 1e-7);
  EXPECT_NEAR(center[0], 4, 1e-6);
  EXPECT_EQ(center[1], -1);
}

TEST(RuleOnPaper, DynSgd) {
  for (const PushForm form : {PushForm::kDelta, PushForm::kGradient}) {
    const RuleSettings rule = Rule(RuleName::kDynSgd, form, 2);
    // Two gradients of 2 at rate 1/2: a delta of -2, the same as their sum at that rate.
    const Numbers push = {form == PushForm::kDelta ? -2.0f : 4.0f};
    Numbers center = {4};
    Sgd sgd({});
    EXPECT_EQ(Merge(rule, {push, 0, {}, 0.5f}, center, &sgd, {}), 1);
    EXPECT_EQ(center[0], 2);
    EXPECT_EQ(Merge(rule, {push, 1, {}, 0.5f}, center, &sgd, {}), 0.5f);
    EXPECT_EQ(center[0], 1);
    EXPECT_EQ(Merge(rule, {push, 3, {}, 0.5f}, center, &sgd, {}), 0.25f);
    EXPECT_EQ(center[0], 0.5f);
  }
  OnPaper paper(Rule(RuleName::kDynSgd, PushForm::kDelta, 2));
  paper.Learn(2);
  paper.Learn(2);
  EXPECT_EQ(paper.Made(), Numbers{-2});  // not divided by the window
}

/// Two workers and a rate for each: the second's counts twice.
TEST(RuleOnPaper, SyncWithDifferentRates) {
  const RuleSettings rule = Rule(RuleName::kSync, PushForm::kGradient);
  Numbers center = {4}, scratch(1);
  Sgd sgd({});
  const auto round = [&](float first, float second, double max_norm) {
    const Numbers a = {first}, b = {second};
    const RoundPart parts[] = {{.worker = 0, .contribution = a},
                               {.worker = 1, .rate_ratio = 2.0f, .contribution = b}};
    const double norm = MergeRound(rule, parts, {0.5f, max_norm}, scratch, center, &sgd);
    return std::pair<double, float>(norm, center[0]);
  };
  EXPECT_EQ(round(2, 1, 0.0), (std::pair<double, float>(2, 3)));     // (2 + 2)/2
  EXPECT_EQ(round(-2, 5, 1.0), (std::pair<double, float>(4, 2.5)));  // mean 4, clipped to 1
  EXPECT_EQ(round(-4, 1, 1.0), (std::pair<double, float>(1, 3)));    // mean -1: not clipped
}

/// Both gradients of a window are taken at the center, and their mean is pushed.
TEST(RuleOnPaper, SyncAveragesItsWindow) {
  OnPaper paper(Rule(RuleName::kSync, PushForm::kGradient, 2));
  paper.Learn(2);
  paper.Learn(4);
  EXPECT_EQ(paper.local[0], 4);
  EXPECT_EQ(paper.Made(), Numbers{3});
}

TEST(RuleOnPaper, Sagn) {
  const RuleSettings rule = Rule(RuleName::kSagn, PushForm::kGradient, 2);
  OnPaper a(rule), b(rule);
  Numbers center = {4}, scratch(1);
  Sgd sgd({});
  const std::array<std::array<float, 4>, 3> gradients = {
      {{2, 4, 0, 2}, {1, 1, -1, -3}, {-8, 0, 0, 0}}};
  // Means of the windows (3, 1), (1, -2), (-4, 0); of the workers 2, -1/2, -2; at rate 1/2:
  const std::array<float, 3> centers = {3, 3.25f, 4.25f};
  for (int i = 0; i < 3; ++i) {
    a.Learn(gradients[i][0]);
    a.Learn(gradients[i][1]);
    b.Learn(gradients[i][2]);
    b.Learn(gradients[i][3]);
    if (i == 0) {
      EXPECT_EQ(a.local[0], 1);  // it stepped on its own: 4 - 1 - 2
    }
    const Numbers from_a = a.Made(), from_b = b.Made();
    const RoundPart parts[] = {{.worker = 0, .contribution = from_a},
                               {.worker = 1, .contribution = from_b}};
    MergeRound(rule, parts, {0.5f}, scratch, center, &sgd);
    EXPECT_EQ(center[0], centers[i]);
    Adopt(rule, center, from_a, a.local);
    Adopt(rule, center, from_b, b.local);
    EXPECT_EQ(a.local, center);
    EXPECT_EQ(b.local, center);
  }
}

/// alpha 1/4, rate 1/2; e and the gradient of a step are both taken at the x_i before it.
TEST(RuleOnPaper, Easgd) {
  const RuleSettings rule = Rule(RuleName::kEasgd, PushForm::kElastic);
  Numbers center = {0}, scratch(1), x1 = {4}, x2 = {-2}, e1(1), e2(1);
  const auto step = [&](float g1, float g2) {
    Contribution(rule, {x1, center, {}, 1}, e1);
    Contribution(rule, {x2, center, {}, 1}, e2);
    Sgd sgd({});
    sgd.Step(0.5f, 1.0f, Numbers{g1}, x1);
    sgd.Step(0.5f, 1.0f, Numbers{g2}, x2);
    const RoundPart parts[] = {{.worker = 0, .contribution = e1},
                               {.worker = 1, .contribution = e2}};
    MergeRound(rule, parts, {}, scratch, center, nullptr);
    Adopt(rule, center, e1, x1);
    Adopt(rule, center, e2, x2);
    return Numbers{center[0], x1[0], x2[0]};
  };
  // e = (1, -1/2): x~ = 1/2, x_1 = 4 - 1 - 1, x_2 = -2 - 1/2 + 1/2
  EXPECT_EQ(step(2, 1), (Numbers{0.5f, 2, -2}));
  // e = (3/8, -5/8): x~ = 1/4, x_1 = 2 - 3/8, x_2 = -2 + 5/8
  EXPECT_EQ(step(0, 0), (Numbers{0.25f, 1.625f, -1.375f}));
  // e = (11/32, -13/32): x~ = 1/4 - 1/16, x_1 = 13/8 - 11/32 + 1, x_2 = -11/8 + 13/32
  EXPECT_EQ(step(-2, 0), (Numbers{0.1875f, 2.28125f, -0.96875f}));
}

/// The same alpha; one worker, whose e of the shard is in the slot of what it pushed.
TEST(RuleOnPaper, Aeasgd) {
  const RuleSettings rule = Rule(RuleName::kAeasgd, PushForm::kElastic);
  Numbers center = {0}, x = {4}, push(1);
  Sgd sgd({});
  const auto step = [&](float gradient) {
    Contribution(rule, {x, {}, {}, 1}, push);
    EXPECT_EQ(push, x);
    Merge(rule, {.contribution = push}, center, nullptr, push);
    sgd.Step(0.5f, 1.0f, Numbers{gradient}, x);
    Adopt(rule, push, {}, x);
    return Numbers{center[0], push[0], x[0]};
  };
  EXPECT_EQ(step(2), (Numbers{1, 1, 2}));              // e = 1: 4 - 1 - 1
  EXPECT_EQ(step(0), (Numbers{1.25f, 0.25f, 1.75f}));  // e = 1/4
  center[0] = -2.25f;                                  // others moved it
  EXPECT_EQ(step(-1), (Numbers{-1.25f, 1, 1.25f}));    // e = 4/4: 7/4 + 1/2 - 1
}

/// And momentum 1/2: v <- v/2 - g/2, x <- x + v, gradients at y = x + v/2.
TEST(RuleOnPaper, Aeamsgd) {
  const RuleSettings rule = Rule(RuleName::kAeamsgd, PushForm::kElastic);
  Numbers center = {0}, x = {4}, e(1);
  Momentum momentum({.delta = 0.5f}, 1);
  const auto step = [&](float gradient) {
    momentum.Step(0.5f, 1.0f, Numbers{gradient}, x);
    const float moved = x[0];
    Contribution(rule, {x, {}, {}, 1}, e);
    Merge(rule, {.contribution = e}, center, nullptr, e);
    Adopt(rule, e, {}, x);
    const float exchanged = x[0];
    momentum.LookAhead(x);
    return Numbers{moved, e[0], exchanged, x[0]};
  };
  // v = -1: x = 3, e = 3/4, x = 9/4, y = 9/4 - 1/2
  EXPECT_EQ(step(2), (Numbers{3, 0.75f, 2.25f, 1.75f}));
  EXPECT_EQ(center[0], 0.75f);
  // v = -1/2: x = 9/4 - 1/2, e = 1/4 (7/4 - 3/4), x = 3/2, y = 3/2 - 1/4
  EXPECT_EQ(step(0), (Numbers{1.75f, 0.25f, 1.5f, 1.25f}));
  EXPECT_EQ(center[0], 1);
  // v = -1/4 + 2: x = 3/2 + 7/4, e = 1/4 (13/4 - 1) = 9/16, x = 43/16, y = 43/16 + 7/8
  EXPECT_EQ(step(-4), (Numbers{3.25f, 0.5625f, 2.6875f, 3.5625f}));
  EXPECT_EQ(center[0], 1.5625f);
}

/// Clipped gradients, and what is pushed made of the very blocks that the worker holds.
TEST(RuleOnPaper, WindowSumsWhatWasClippedAndIsPushedInPlace) {
  Numbers accumulated = {100};  // of the window before
  AddToWindow(Numbers{8}, 0.5f, 0, accumulated);
  AddToWindow(Numbers{2}, 1.0f, 1, accumulated);
  EXPECT_EQ(accumulated, Numbers{6});
  const Numbers pulled = {1};
  Contribution(Rule(RuleName::kAsgd, PushForm::kGradient), {{}, {}, accumulated, 2}, accumulated);
  EXPECT_EQ(accumulated, Numbers{6});
  Contribution(Rule(RuleName::kAgn, PushForm::kGradient), {{}, {}, accumulated, 2}, accumulated);
  EXPECT_EQ(accumulated, Numbers{3});
  Numbers local = {5};
  Contribution(Rule(RuleName::kAgn, PushForm::kDelta), {local, pulled, {}, 2}, local);
  EXPECT_EQ(local, Numbers{2});
  Contribution(Rule(RuleName::kEasgd, PushForm::kElastic), {local, pulled, {}, 2}, local);
  EXPECT_EQ(local, Numbers{0.25f});
}

TEST(RuleOnPaper, LocalStepsAreWastedWhenTheElasticForceIsStronger) {
  const Numbers gradient = {3, 4}, elastic = {0, 1};  // norms 5 and 1
  EXPECT_TRUE(WastedLocalStep(0.125, gradient, elastic));
  EXPECT_FALSE(WastedLocalStep(0.25, gradient, elastic));
}

}  // namespace
}  // namespace murmurate
