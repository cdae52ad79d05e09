#include "server/daemon/learners_advice.h"

#include "server/metrics/number_text.h"

namespace murmurate {
namespace {

std::string Milliseconds(double seconds) { return FormatNumber("%.3g ms", 1e3 * seconds); }

}  // namespace

std::string AdviceOnProcessors(int learners, int processors) {
  if (processors < 1 || learners <= processors) return "";
  const std::string fit = std::to_string(processors);
  return std::to_string(learners) + " learners take turns on " + fit +
         (processors == 1 ? " processor" : " processors") + ", so more than " + fit +
         " pay only where slow games keep them waiting; otherwise take "
         "run.learners = " +
         fit;
}

std::string AdviceOnBatches(RuleName rule, int learners) {
  if (learners < 2 || (rule != RuleName::kSync && rule != RuleName::kSagn)) return "";
  const std::string times = std::to_string(learners);
  return times + " learners under " + TextOf(rule) + " learn as one does with batches " + times +
         " times as large: divide algorithm.batch_steps and minibatch by " + times +
         ", or raise optimizer.learning_rate, at most " + times + " times, to need no more steps";
}

std::string ExchangeAdvice::Learned(const LearnReport& report, double waited_s) {
  if (done_ || report.held_out || report.exchange.exchanges == 0) return "";
  if (!began_) {
    began_ = true;
    waited_at_begin_s_ = waited_s;
    return "";
  }
  exchanges_ += report.exchange.exchanges;
  exchanged_s_ += report.exchange.wait_s;
  computed_s_ += report.learn_s - report.exchange.wait_s;
  if (exchanges_ < kExchanges) return "";
  done_ = true;
  const bool games_are_slow = waited_s - waited_at_begin_s_ > exchanged_s_;
  if (games_are_slow || exchanged_s_ < (learners_ - 1) * computed_s_) return "";
  const auto of_one = [&](double sum) {
    return Milliseconds(sum / static_cast<double>(exchanges_));
  };
  return "an exchange with the parameter server takes " + of_one(exchanged_s_) +
         " and what is computed before it " + of_one(computed_s_) + ", so " +
         std::to_string(learners_) +
         " learners learn no faster than one here; take fewer, or a larger minibatch or "
         "parameters.window";
}

}  // namespace murmurate
