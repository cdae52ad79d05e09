#include "server/stream/sample.h"

#include <algorithm>
#include <numeric>

namespace murmurate {
namespace {

struct Words {
  const char* word;
  const char* sentence;
};

constexpr std::array<Words, kRefusals> kWords = {{
    {"none", ""},
    {"unknown_topic",
     "the topic does not fit the pattern that is subscribed to: publish to a topic of that form, "
     "or "
     "change 'subscribe'"},
    {"retained",
     "the broker kept this message from before the subscription, so it may be old: publish samples "
     "without the retain flag"},
    {"empty_device", "the message names no device: give each device a name of its own"},
    {"device_name_too_long",
     "the name of the device has more than 128 bytes: choose a shorter one"},
    {"bad_device_name",
     "the name of the device has '+', '#', '/' or a control character in it, or '$' at the "
     "beginning "
     "of a payload's: choose a name without"},
    {"oversized",
     "the payload has more bytes than 'max_bytes' allows: send one sample a message, or raise it"},
    {"malformed",
     "the payload cannot be read in the declared 'format': check that the device sends it, whole "
     "(JSON has null where a number is not finite; CSV is one line without quotes)"},
    {"too_deep", "the payload is nested deeper than 32 levels: send a flatter object"},
    {"twice",
     "the payload has two values for one field: send each key once, because it is not "
     "known which holds"},
    {"wrong_type",
     "the payload has text or an object where a number belongs (or is no object at all): send "
     "numbers, a sequence that is an integer from 0 on, and an id that is text or an integer"},
    {"bad_time",
     "the time cannot be read in the declared unit, or lies before 1970, after 2115 or more than a "
     "day "
     "ahead of the clock here: send it in that unit, change the unit, or set the clocks"},
    {"id_too_long", "the id has more than 128 bytes: choose a shorter one"},
    {"no_field",
     "the payload has a usable number for none of the declared fields: check 'fields' and their "
     "pointers against what the device sends"},
    {"missing_field",
     "a declared field is missing or out of its range, and a label, or missing = \"error\", wants "
     "all of them: send them, or let it hold or skip"},
    {"no_id",
     "the message has no id, and with 'label_topic' a sample and its label find each other by it: "
     "send it where 'id' says"},
    {"duplicate",
     "a message with this sequence number, a sample with this id or the label of this sample came "
     "before: nothing to do if it was sent again, else let each device count its own messages and "
     "go on counting after a restart"},
    {"time_runs_back",
     "the time lies before that of the device's last message: publish in order, or set its clock"},
    {"unknown_id",
     "the label has the id of no sample that is kept: publish the sample first, and its label "
     "before 'label_window' more samples of that device have come, or raise that; with "
     "'early_labels' it may come before its sample"},
    {"too_many_devices",
     "this stream follows as many devices as 'max_devices' allows: raise it, or subscribe to "
     "fewer"},
}};

}  // namespace

std::uint64_t RefusalCounts::sum() const {
  return std::accumulate(counts_.begin(), counts_.end(), std::uint64_t{0});
}

void RefusalCounts::GoOnFrom(std::span<const std::uint64_t> counts) {
  std::ranges::copy(counts.first(std::min(counts.size(), counts_.size())), counts_.begin());
}

const char* WordOf(Refusal refusal) { return kWords[static_cast<std::size_t>(refusal)].word; }

const char* SentenceOf(Refusal refusal) {
  return kWords[static_cast<std::size_t>(refusal)].sentence;
}

}  // namespace murmurate
