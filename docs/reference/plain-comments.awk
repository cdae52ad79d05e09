# Doxygen's input filter: a public header as it is written -> the same lines, with comments that doxygen
# reads. No line is added or taken away, so a warning names the header's own line.
#
#   // at the top of a C++ header          ->  the file's page
#   /* */ before or beside a C declaration ->  its documentation
#   lines that are indented by two more    ->  as they lie, in a box
#   WORDS   and a paragraph beside it      ->  a paragraph with that heading
#   an overload directly below another     ->  points to that one
#   /* ---- Title ---- */                  ->  a group of what follows

# What must stand between two lines goes to the end of the first.
function put(line) {
  if (NR > 1) print held
  held = line
}

function unbox() {
  if (boxed) held = held " @endverbatim"
  boxed = 0
}

# What one line of a comment says, without the sign before it.
function put_words(text) {
  if (match(text, /^ [A-Z][A-Z][A-Z]+  +/)) {
    terms = 1
    heading = substr(text, 2, RLENGTH - 1)
    text = substr(text, RLENGTH + 1)
    sub(/ +$/, "", heading)
    text = " @term{" heading "} " text
  }
  code = !terms && text ~ /^   +[^ ]/
  if (terms) sub(/^ +/, " ", text)
  if (code && !boxed) held = held " @verbatim"
  if (!code) unbox()
  boxed = code
  put(text)
}

NR == 1 { in_c = /^\/\*/; top = /^\/\// }

# Runs of // at the top and of /// become one /** */ each.
!in_c && ((top && /^\/\//) || /^ *\/\/\//) {
  match($0, top ? "^//" : "^ *///")
  text = substr($0, RLENGTH + 1)
  if (in_run) put_words(text)
  else put((top ? "/** @thisfile" : "/**") text)
  in_run = 1
  next
}
!in_c {
  top = 0
  unbox()
  if (in_run) held = held " */"
  name = ""
  if ($0 ~ /^ *[A-Za-z].*\(.*;$/) {
    name = $0
    sub(/\(.*/, "", name)
    sub(/.*[ &*>]/, "", name)
    if (name != "" && described && name == last_name) $0 = $0 "  ///< As the one before it."
  }
  described = in_run || (described && name == last_name)
  last_name = name
  in_run = 0
  put($0)
  next
}

# C from here on.
after_function && /^MMR_API / && !/\*\/$/ { held = held " /** As the one before it. */" }
{ after_function = /\);$/ }
/^\/\* ---- .* ----+ \*\/$/ {
  title = $0
  gsub(/^\/\* -+ | -+ \*\/$|`/, "", title)
  put((grouped ? "/**@}*/ " : "") "/** @name " title " */ /**@{*/")
  grouped = 1
  next
}
inside {
  last = /\*\//
  text = $0
  sub(/^ *\*?/, "", text)
  if (last && text == "/") { unbox(); put("*/") }
  else put_words(text)
  if (last) { inside = 0; terms = 0 }
  next
}
/^ *\/\*/ {
  inside = !/\*\//
  sub(/\/\*/, NR == 1 ? "/** @thisfile" : "/**")
  put($0)
  next
}
/[^ ] *\/\* .*\*\/$/ { sub(/\/\*/, "/**<"); put($0); next }
/^#ifdef __cplusplus/ && grouped { held = held " /**@}*/"; grouped = 0 }
{ put($0) }
END { print held }
