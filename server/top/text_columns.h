// TextColumns: how many columns texts take on a terminal, and texts cut to so many.
#pragma once

#include <string>
#include <string_view>

namespace murmurate {

/// `text` with a '?' in place of what would move a cursor or change its direction: control
/// characters, line breaks, marks of bidirectional text, and bytes that are no UTF-8. What other
/// programs name (actors, runs, devices) is shown by no other way.
std::string Printable(std::string_view text);

/// Columns that a printable text takes: 2 for wide characters of East Asia and pictures, 0 for
/// marks that combine with the character before them.
int ColumnsOf(std::string_view text);

/// `text` cut to at most `columns`, with a '~' as its last one where something is missing.
std::string CutTo(std::string_view text, int columns);
/// `text` cut to `columns` and filled up with spaces, behind or before it.
std::string PadBehind(std::string_view text, int columns);
std::string PadBefore(std::string_view text, int columns);

}  // namespace murmurate
