// The table of a stream's keys: what there is, what it means, what it may be.
#include "server/schema/config_table_words.h"

namespace murmurate {
namespace {

const std::vector<ConfigRule> kLinkRules{
    {"stream", "listen", kString, kUnset, "\"tcp://127.0.0.1:7430\"",
     "where clients send samples and get forecasts over ZeroMQ; alone it needs no broker"},
    {"stream", "broker", kString, kUnset, "\"mqtt://localhost:1883\"",
     "where it listens; mqtts:// with TLS; usual: that one, and none beside `listen`"},
    {"stream", "protocol", kString, S("3.1.1"), "\"5\"", "of MQTT", -1, 1, {"3.1.1", "5"}},
    {"stream", "client_id", kString, kUnset, "\"murmurate-temp\"",
     "to the broker; usual: one that is drawn"},
    {"stream", "user", kString, kUnset, "\"murmurate\"", "to the broker"},
    {"stream", "password_file", kPath, kUnset, "\"password.txt\"",
     "whose first line is the user's password; mode 600"},
    {"stream", "password_env", kString, kUnset, "\"MQTT_PASSWORD\"",
     "or the variable of the environment that holds it"},
    {"stream", "ca_file", kPath, kUnset, "\"ca.pem\"",
     "who signs for the broker; usual: the system's authorities"},
    {"stream", "certificate_file", kPath, kUnset, "\"client.pem\"", "ours, for the broker"},
    {"stream", "key_file", kPath, kUnset, "\"client.key\"", "of that certificate; mode 600"},
    {"stream", "qos", kInteger, I(1), "1",
     "of what is read: 0 at most once, 1 at least once, 2 once", 0, 2},
};

const std::vector<ConfigRule> kMessageRules{
    {"stream", "subscribe", kString, kUnset, "\"sensors/{device}/data\"",
     "topics that are read; {device} says whose message it is"},
    {"stream",
     "format",
     kString,
     S("json"),
     "\"csv\"",
     "of a message",
     -1,
     1,
     {"json", "csv", "floats", "flatbuffer"}},
    {"stream", "fields", ValueKind::kStrings, kUnset, "[\"temp\", \"hum\"]",
     "numbers that each message has; the model sees them"},
    {"stream", "header", ValueKind::kStrings, Strings{}, "[\"temp\", \"hum\"]",
     "csv: the names of all columns"},
    {"stream", "separator", kString, S(","), "\";\"", "csv: between columns"},
    {"stream", "max_bytes", kInteger, I(64 << 10), "65536", "of a message; larger ones are refused",
     1, 16 << 20},
    {"stream", "time", kString, kUnset, "\"/time\"",
     "where a message says when it was measured; usual: it counts as it arrives"},
    {"stream",
     "time_unit",
     kString,
     S("s"),
     "\"ms\"",
     "of that time",
     -1,
     1,
     {"s", "ms", "us", "ns", "iso8601"}},
    {"stream", "sequence", kString, kUnset, "\"/seq\"",
     "where a message has its number: what comes twice counts once"},
    {"stream", "device", kString, kUnset, "\"/id\"",
     "where a message says who sends it, when its topic has no {device}"},
    {"stream", "label_topic", kString, kUnset, "\"lab/{device}/result\"",
     "topics where the target of each row comes later; usual: targets are fields"},
    {"stream", "id", kString, kUnset, "\"/id\"",
     "with label_topic: where a sample and its label say which sample it is"},
    {"stream", "label_window", kInteger, I(256), "256",
     "rows of a device after which a label comes too late", 1, 4096},
    {"stream", "label_header", ValueKind::kStrings, Strings{}, "[\"id\", \"quality\"]",
     "csv: the names of all columns of a label"},
    {"stream", "every", ValueKind::kDuration, kUnset, "\"10s\"",
     "put messages on a grid of this step; usual: each is a row"},
    {"stream",
     "resample",
     kString,
     S("last"),
     "\"mean\"",
     "what the messages of one step make",
     -1,
     1,
     {"last", "mean", "sum"}},
    {"stream",
     "missing",
     kString,
     S("hold"),
     "\"skip\"",
     "a field that is not there: its last value, no row, or a refusal",
     -1,
     1,
     {"hold", "skip", "error"}},
    {"stream", "max_gap", kInteger, I(10), "10", "rows in which values may be held", 0, 1'000'000},
    {"stream", "max_devices", kInteger, I(10'000), "10000", "that are followed at once", 1,
     1'000'000},
    {"stream", "forget_after", ValueKind::kDuration, S("1d"), "\"1d\"",
     "a device silent for so long makes room for another"},
};

const std::vector<ConfigRule> kForecastRules{
    {"stream", "target", ValueKind::kNames, kUnset, "\"temp\"",
     "the fields that are forecast, or with label_topic what labels say"},
    {"stream", "horizon", ValueKind::kSpans, std::vector<std::int64_t>{1}, "[1, 6]",
     "rows ahead, or times on the grid of `every`", 1, 4096},
    {"stream", "quantiles", ValueKind::kNumbers, std::vector<double>{}, "[0.1, 0.9]",
     "of the forecast's errors, that are tracked and published around it", 1e-6, 1 - 1e-6},
    {"stream", "season", kInteger, I(0), "24",
     "rows after which it may repeat: a naive forecast beside the last value; 0: none", 0,
     1'000'000},
    {"stream",
     "model",
     ValueKind::kNetwork,
     S("lstm"),
     "\"gru\"",
     "what forecasts: one of these, of `hidden` units, or a list of layers",
     -1,
     1,
     {"lstm", "gru", "mlp"}},
    {"stream", "hidden", kInteger, I(32), "32", "units of lstm, gru, and both layers of mlp", 1,
     65536},
    {"stream", "window", kInteger, I(16), "16",
     "rows that a training step goes back, or that a model sees that does not recur", 1, 1024},
    {"stream",
     "state",
     kString,
     S("per-device"),
     "\"window\"",
     "what a model that recurs remembers: a device's whole past, or its window",
     -1,
     1,
     {"per-device", "window"}},
    {"stream", "normalize_over", kInteger, I(1000), "1000",
     "rows of a device that its usual value and spread remember", 2, kMany},
    {"stream", "score_over", kInteger, I(200), "200", "forecasts that errors and skill remember", 1,
     kMany},
    {"stream", "drift_threshold", ValueKind::kNumber, 50.0, "50",
     "usual errors that the model's may add up to above their mean before a drift is noticed; 0: "
     "none ever is",
     0, 1e9},
    {"stream", "drift_tolerance", ValueKind::kNumber, 0.1, "0.1",
     "usual errors by which the model's may rise and count as nothing", 0, 1e9},
    {"stream", "learn", kBool, true, "false", "false: the weights stay as they are"},
    {"stream", "max_batch", kInteger, I(64), "64",
     "sequences (rows, where nothing recurs) in a training step", 1, 4096},
    {"stream", "max_delay_ms", kInteger, I(0), "20",
     "that a row may wait for others to be learned with", 0, 60'000},
    {"stream", "replay", kInteger, I(0), "1000",
     "sequences (rows, where nothing recurs) kept, to learn as many again beside new ones; 0: none",
     0, 1'000'000},
    {"stream", "learning_rate", ValueKind::kNumber, kUnset, "1e-3",
     "of its model; usual: 1e-3, or what [optimizer] says", kTiny, 100},
};

const std::vector<ConfigRule> kAnswerRules{
    {"stream", "publish", kString, kUnset, "\"sensors/{device}/forecast\"",
     "where forecasts go; {names} as in subscribe"},
    {"stream", "metrics", kString, kUnset, "\"sensors/{device}/error\"",
     "where a device's errors and skill go"},
    {"stream", "committed", kString, kUnset, "\"sensors/{device}/committed\"",
     "where the last number goes that a checkpoint holds"},
    {"stream", "status", kString, kUnset, "\"sensors/forecaster\"",
     "where \"learning\" (or \"forecasting\") and, as its last will, \"offline\" go"},
    {"stream", "retain", kBool, true, "false", "the broker keeps the last of each topic"},
};

const std::vector<ConfigRule> kFieldRules{
    {"stream.field", "pointer", kString, kUnset, "\"/climate/humidity\"",
     "where a message has it: a JSON pointer, a CSV column; usual: where its name says"},
    {"stream.field", "unit", kString, kUnset, "\"degC\"", "said with each forecast"},
    {"stream.field", "low", ValueKind::kNumber, kUnset, "-40", "what lies below counts as missing"},
    {"stream.field", "high", ValueKind::kNumber, kUnset, "85", "what lies above counts as missing"},
};

const std::vector<ConfigRule> kAlarmRules{
    {"stream.alarm", "when", kString, kUnset, "\"forecast > 30\"",
     "what raises it: a quantity, a comparison and a number, or \"value outside\""},
    {"stream.alarm", "for", kInteger, I(1), "3", "rows for which that must have held", 1,
     1'000'000},
    {"stream.alarm", "clear", kString, kUnset, "\"forecast < 28\"",
     "what clears it; usual: that `when` does not hold"},
    {"stream.alarm", "publish", kString, kUnset, "\"sensors/{device}/alarm\"",
     "where it goes when it is raised or cleared; {names} as in subscribe"},
    {"stream.alarm", "retain", kBool, true, "false", "the broker keeps the last of each device"},
};

}  // namespace

const std::vector<ConfigRule>& StreamRules() {
  static const std::vector<ConfigRule> kRules = [] {
    std::vector<ConfigRule> all;
    for (const auto* some :
         {&kLinkRules, &kMessageRules, &kForecastRules, &kAnswerRules, &kFieldRules, &kAlarmRules})
      all.insert(all.end(), some->begin(), some->end());
    return all;
  }();
  return kRules;
}

}  // namespace murmurate
