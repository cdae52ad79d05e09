# What the daemon's package has for an administrator and for shells: the systemd unit and its config, manual
# pages, completion. Pages and completion are written by the daemon itself.
find_program(MURMURATE_GZIP gzip REQUIRED)
set(service_files ${PROJECT_BINARY_DIR}/service)
file(MAKE_DIRECTORY ${service_files}/man1)
add_custom_command(
  OUTPUT ${service_files}/written
  COMMAND ${CMAKE_COMMAND} -E rm -rf ${service_files}/man1
  COMMAND murmurate man ${service_files}/man1 --quiet
  COMMAND sh -c [["$0" -9nf "$1"/*.1]] ${MURMURATE_GZIP} ${service_files}/man1
  COMMAND sh -c [["$0" completion bash >"$1"]] $<TARGET_FILE:murmurate> ${service_files}/murmurate
  COMMAND sh -c [["$0" completion zsh >"$1"]] $<TARGET_FILE:murmurate> ${service_files}/_murmurate
  COMMAND ${CMAKE_COMMAND} -E touch ${service_files}/written
  DEPENDS murmurate COMMENT "Manual pages and completion" VERBATIM)
add_custom_target(murmurate_service ALL DEPENDS ${service_files}/written)

# The unit names the paths of the package, whose prefix is /usr: a plain `cmake --install` leaves it and its config out.
install(FILES packaging/murmurate.service DESTINATION lib/systemd/system COMPONENT daemon EXCLUDE_FROM_ALL)
install(FILES packaging/serve.toml DESTINATION ${CMAKE_INSTALL_SYSCONFDIR}/murmurate COMPONENT daemon EXCLUDE_FROM_ALL)
install(DIRECTORY ${service_files}/man1 DESTINATION ${CMAKE_INSTALL_MANDIR} COMPONENT daemon)
install(FILES ${service_files}/murmurate
  DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions COMPONENT daemon)
install(FILES ${service_files}/_murmurate
  DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/vendor-completions COMPONENT daemon)
install(FILES packaging/Dockerfile packaging/compose.yaml
  DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/murmurate/packaging COMPONENT daemon)
