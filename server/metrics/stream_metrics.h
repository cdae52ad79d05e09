// The metrics of a stream: its ways in and out, and what became of its messages. Each life of a
// learner counts on from the last checkpoint, but for what is said to be of this life.
#pragma once

#include "server/metrics/metric.h"

namespace murmurate {

inline constexpr Metric kStreamBroker{"stream/broker",     MetricKind::kText, "",
                                      "\"\": it has none", "broker",          false};
inline constexpr Metric kStreamListen{
    "stream/listen", MetricKind::kText, "", "where it takes samples itself", "listen", false};
inline constexpr Metric kStreamClients{"stream/clients",          MetricKind::kGauge, "",
                                       "that send samples there", "clients",          false};
inline constexpr Metric kStreamAnswered{"stream/answered",         MetricKind::kTotal, "samples",
                                        "of theirs, in this life", "answered",         false};
inline constexpr Metric kStreamUp{"stream/up", MetricKind::kGauge, "", "the broker is there", "up",
                                  false};
inline constexpr Metric kStreamDown{"stream/down_s",         MetricKind::kGauge, "s",
                                    "since the broker went", "down_s",           false};
inline constexpr Metric kStreamPublished{"stream/published", MetricKind::kTotal, "messages",
                                         "in this life",     "published",        false};
inline constexpr Metric kStreamLosses{"stream/losses",     MetricKind::kTotal, "",
                                      "of the connection", "losses",           false};
inline constexpr Metric kStreamReceived{"stream/received", MetricKind::kTotal,
                                        "messages",        "refused and taken, labels among them",
                                        "received",        false};
inline constexpr Metric kStreamMessages{"stream/messages", MetricKind::kTotal, "messages",
                                        "taken",           "messages",         false};
inline constexpr Metric kStreamRate{"stream/messages_per_s", MetricKind::kGauge, "messages/s",
                                    "over the last second", "messages_per_s"};
inline constexpr Metric kStreamDevices{"stream/devices", MetricKind::kGauge, "",
                                       "that are followed", "devices"};
inline constexpr Metric kStreamLearned{"stream/learned", MetricKind::kTotal, "pairs",
                                       "learned from",   "learned",          false};
inline constexpr Metric kStreamUnlearned{"stream/unlearned", MetricKind::kTotal, "pairs",
                                         "for which there was no time", "unlearned"};
inline constexpr Metric kStreamGaps{"stream/gaps", MetricKind::kTotal, "messages",
                                    "numbered ones that have not come", "gaps"};
inline constexpr Metric kStreamLate{
    "stream/late", MetricKind::kTotal, "messages", "came after later ones", "late", false};
inline constexpr Metric kStreamRows{"stream/rows", MetricKind::kTotal, "rows", "", "rows", false};
inline constexpr Metric kStreamForecasts{"stream/forecasts", MetricKind::kTotal, "rows",
                                         "forecast from",    "forecasts",        false};
inline constexpr Metric kStreamIncomplete{
    "stream/incomplete", MetricKind::kTotal,
    "messages",          "without a row: a field has had no value yet (cells, on a grid)",
    "incomplete",        false};
inline constexpr Metric kStreamSkipped{"stream/skipped", MetricKind::kTotal,
                                       "messages",       "without a row: values were missing",
                                       "skipped",        false};
inline constexpr Metric kStreamJoined{"stream/joined",          MetricKind::kTotal, "messages",
                                      "in a cell that had one", "joined",           false};
inline constexpr Metric kStreamEmpty{
    "stream/empty", MetricKind::kTotal, "cells", "without a message", "empty", false};
inline constexpr Metric kStreamWaiting{"stream/waiting",      MetricKind::kGauge, "cells",
                                       "that are still open", "waiting",          false};
inline constexpr Metric kStreamStuck{
    "stream/stuck", MetricKind::kText, "", "a device that never makes a row", "stuck", false};
inline constexpr Metric kStreamError{"stream/error", MetricKind::kGauge, "naive errors",
                                     "of the model's forecasts, recently", "error"};
inline constexpr Metric kStreamNaiveError{"stream/baseline_error", MetricKind::kGauge,
                                          "naive errors", "of the naive forecasts, recently",
                                          "baseline_error"};
inline constexpr Metric kStreamSkill{"stream/skill", MetricKind::kGauge, "of 1",
                                     "what the model's error is less than the naive one", "skill"};
inline constexpr Metric kStreamRefused{"stream/refused", MetricKind::kTotal, "messages",
                                       "for any reason"};
inline constexpr Metric kStreamBreaks{"stream/breaks", MetricKind::kTotal, "",
                                      "devices that began again"};
inline constexpr Metric kStreamUnpublished{"stream/unpublished", MetricKind::kTotal, "messages",
                                           "that the link did not hand over"};
inline constexpr Metric kStreamReplayed{"stream/replayed", MetricKind::kTotal, "pairs",
                                        "learned again"};
inline constexpr Metric kStreamDrifts{"stream/drifts", MetricKind::kTotal, "",
                                      "times that the model's errors rose for good"};
inline constexpr Metric kStreamEarly{"stream/early", MetricKind::kGauge, "labels",
                                     "that wait for their samples", "early"};
inline constexpr Metric kStreamUnmatched{"stream/unmatched", MetricKind::kTotal, "labels",
                                         "whose samples did not come in time", "unmatched"};
inline constexpr Metric kStreamAlarms{"stream/alarms", MetricKind::kTotal, "", "raised"};

// With labels: the reason of a refusal; the name of a field.
inline constexpr Metric kStreamRefusals{"stream/refusals", MetricKind::kTotal, "messages",
                                        "by reason",       "refused.*",        false};
inline constexpr Metric kFieldMissing{
    "field/missing", MetricKind::kTotal, "values", "", "fields.*.missing", false};
inline constexpr Metric kFieldOutOfRange{
    "field/out_of_range", MetricKind::kTotal, "values", "", "fields.*.out_of_range", false};
inline constexpr Metric kFieldWrongType{
    "field/wrong_type", MetricKind::kTotal, "values", "", "fields.*.wrong_type", false};

}  // namespace murmurate
