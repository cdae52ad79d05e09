// Examines a broker's first packet, CONNACK, before libmosquitto reads it.
//
// libmosquitto 2.0.11 ends the process (assert) when an MQTT 5 packet holds a property that it does
// not know. A broker sends none, but whatever else listens where a broker was expected may. So what
// does not begin with a whole and proper CONNACK is never read. A broker that is one and then turns
// evil is beyond this; MQTT 3.1.1 has no properties.
#pragma once

#include <cstddef>
#include <string_view>

namespace murmurate {

/// The longest that is waited for; real ones have a tenth of it.
inline constexpr std::size_t kMaxConnack = 4096;

enum class Greeting {
  kPartial,  ///< the bytes so far may become one
  kProper,   ///< they begin with one
  kNone,     ///< they never will
};

/// `bytes`: the first that came, of MQTT 5, or of 3.1.1 refusing MQTT 5. `needed`: how many a
/// partial one must have before it is examined again.
Greeting ExamineConnack(std::string_view bytes, std::size_t* needed);

}  // namespace murmurate
