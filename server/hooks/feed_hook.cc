// feed: every so many steps or seconds, sets what `murmurate set` sets to a number that a file
// holds or a command prints. What does not change is not set again.
#include <atomic>
#include <cctype>
#include <charconv>
#include <fstream>

#include "server/hooks/hook_process.h"
#include "server/hooks/kinds.h"
#include "server/metrics/number_text.h"
#include "shared/core/clock.h"

namespace murmurate {
namespace {

constexpr std::size_t kMostText = 4096;
constexpr int kSliceMs = 50;

struct FeedSettings {
  std::string setting, file, command;
  double timeout_s = 10.0;
  HookTimes times;
};

const Keys<FeedSettings>& FeedKeys() {
  using namespace keys;
  using S = FeedSettings;
  static const Keys<S> kKeys(
      "hook.feed", WithTimes<S>({{"setting", &S::setting, "as `murmurate set` names it",
                                  Example("\"optimizer.learning_rate\"")},
                                 {"file", &S::file, "whose first word is the number",
                                  Kind(ValueKind::kPath), Example("\"rate.txt\"")},
                                 {"command", &S::command, "of the shell, which prints the number",
                                  Example("\"./next-rate\"")},
                                 {"timeout_s", &S::timeout_s, "seconds that the command may take",
                                  Range(0.01, 3600)}}));
  return kKeys;
}

class FeedHook : public Hook {
 public:
  FeedHook(FeedSettings settings, HookTools tools)
      : settings_(std::move(settings)), tools_(std::move(tools)), clock_(settings_.times) {}

  HookMoments wants() const override {
    return Bit(HookMoment::kBeforeBatch) | Bit(HookMoment::kAfterBatch);
  }
  void Interrupt() override { interrupted_ = true; }

  /// The first value is set before the first batch has ended.
  Status OnEvent(const HookEvent& event) override {
    if (event.moment == HookMoment::kEnd) return {};
    if (!clock_.Due(event.steps, event.at_ns) && fed_) return {};
    fed_ = true;
    const auto text = settings_.file.empty() ? Printed() : Read();
    if (!text.ok()) return text.status();
    const auto value = NumberOf(*text);
    if (!value.ok()) return value.status();
    if (value_ == *value) return {};
    const auto set = tools_.actions.set(settings_.setting + '=' + TextOf(*value));
    if (set.ok()) value_ = *value;
    return set.status();
  }

 private:
  std::string Source() const {
    return settings_.file.empty() ? '"' + settings_.command + '"' : settings_.file;
  }

  /// The shortest digits that read back to the same number.
  static std::string TextOf(double value) {
    char digits[32];
    return {digits, std::to_chars(digits, digits + sizeof digits, value).ptr};
  }

  Result<double> NumberOf(const std::string& text) const {
    const std::size_t begin = text.find_first_not_of(" \t\r\n");
    double value = 0;
    const char* const end = text.data() + text.size();
    const auto read = std::from_chars(begin == text.npos ? end : text.data() + begin, end, value);
    if (read.ec == std::errc() &&
        (read.ptr == end || std::isspace(static_cast<unsigned char>(*read.ptr)) != 0))
      return value;
    return InvalidData(Source() + ": got \"" + text.substr(0, 40) + "\", expected a number; " +
                       settings_.setting + " stays as it is");
  }

  Result<std::string> Read() const {
    std::ifstream file(settings_.file);
    std::string text(kMostText, '\0');
    file.read(text.data(), static_cast<std::streamsize>(text.size()));
    if (!file.is_open())
      return InvalidData(settings_.file + ": cannot be read; " + settings_.setting +
                         " stays as it is");
    text.resize(static_cast<std::size_t>(file.gcount()));
    return text;
  }

  Result<std::string> Printed() {
    HookProcess process;
    MURMURATE_RETURN_IF_ERROR(process.Start(settings_.command, ""));
    process.CloseInput();
    const std::int64_t until_ns =
        MonotonicNs() + static_cast<std::int64_t>(settings_.timeout_s * 1e9);
    std::string text;
    while (process.ReadSome(&text, kSliceMs)) {
      if (text.size() > kMostText) return InvalidData(Source() + ": prints too much");
      if (interrupted_ || MonotonicNs() >= until_ns)
        return Unavailable(Source() + ": printed no end within " +
                           ShortDuration(settings_.timeout_s) + "; raise timeout_s");
    }
    return text;
  }

  const FeedSettings settings_;
  const HookTools tools_;
  HookClock clock_;
  bool fed_ = false;
  std::optional<double> value_;
  std::atomic<bool> interrupted_{false};
};

Result<std::unique_ptr<Hook>> Make(const SectionView& keys, const HookTools& tools) {
  FeedSettings settings = FeedKeys().Read(keys);
  MURMURATE_RETURN_IF_ERROR(NeedsTimes(keys, settings.times));
  if (settings.setting.empty())
    return RefuseHook(keys,
                      "setting is not set; write for example setting = "
                      "\"optimizer.learning_rate\"");
  if (settings.file.empty() == settings.command.empty())
    return RefuseHook(keys,
                      "it needs either file or command; write for example file = \"rate.txt\"");
  return std::unique_ptr<Hook>(std::make_unique<FeedHook>(std::move(settings), tools));
}

}  // namespace

HookKind FeedHookKind() { return {"feed", RulesOf<FeedKeys>, Make}; }

}  // namespace murmurate
