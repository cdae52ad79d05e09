// UTF-8 of texts from outside.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace murmurate {

/// The bytes of the character that `text` begins with, 1 to 4; 0: it is no UTF-8 there (RFC 3629:
/// no overlong form, no surrogate, nothing above U+10FFFF). `text` is not empty.
std::size_t Utf8Length(std::string_view text);

/// `text` with U+FFFD in place of each byte that is no UTF-8.
std::string ValidUtf8(std::string_view text);

}  // namespace murmurate
