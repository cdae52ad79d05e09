# Writes OUTPUT, a C++ file: server/compute/device/device_build.h's text, of VERSION and of what HEADERS say.
string(REPLACE "|" ";" headers "${HEADERS}")
set(sums "")
foreach(header IN LISTS headers)
  file(SHA256 ${header} sum)
  string(APPEND sums ${sum})
endforeach()
string(SHA256 sum "${sums}")
string(SUBSTRING ${sum} 0 16 sum)
file(WRITE ${OUTPUT} "#include \"server/compute/device/device_build.h\"\n\nnamespace murmurate {\n\n"
  "const char* DeviceBuild() { return \"${VERSION} ${sum}\"; }\n\n}  // namespace murmurate\n")
