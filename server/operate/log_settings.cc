#include "server/operate/log_settings.h"

#include "server/schema/settings_keys.h"

namespace murmurate {

constexpr EnumName<LogFormat> kLogFormatNames[] = {{LogFormat::kText, "text"},
                                                   {LogFormat::kJson, "json"}};
constexpr std::span<const EnumName<LogFormat>> NamesOf(LogFormat) { return kLogFormatNames; }

constexpr EnumName<LogLevel> kLogLevelNames[] = {
    {LogLevel::kInfo, "info"}, {LogLevel::kWarning, "warning"}, {LogLevel::kError, "error"}};
constexpr std::span<const EnumName<LogLevel>> NamesOf(LogLevel) { return kLogLevelNames; }

const Keys<LogSettings>& LogKeys() {
  using namespace keys;
  using S = LogSettings;
  static const Keys<S> kKeys(
      "log",
      {{"format", &S::format, "of log.txt and stderr: lines of text, or of JSON"},
       {"level", &S::level, "the least that is written"},
       {"max_bytes", &S::max_bytes, "log.txt becomes log.1.txt before it is larger",
        Kind(ValueKind::kBytes), Range(4096, kMany)},
       {"keep", &S::keep, "earlier files log.1.txt, log.2.txt, ...; 0: none", Range(0, 1000)}});
  return kKeys;
}

}  // namespace murmurate
