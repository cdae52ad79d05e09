# What the daemon's package has for an administrator and for shells: the systemd unit and its config, manual
# pages, completion. Pages and completion are written by the daemon itself.
set(service_files ${PROJECT_BINARY_DIR}/service)
file(MAKE_DIRECTORY ${service_files}/man1)
add_custom_command(
  OUTPUT ${service_files}/written
  COMMAND ${CMAKE_COMMAND} -E rm -rf ${service_files}/man1
  COMMAND murmurate man ${service_files}/man1 --quiet
  COMMAND sh -c "gzip -9nf ${service_files}/man1/*.1"
  COMMAND sh -c "$<TARGET_FILE:murmurate> completion bash >${service_files}/murmurate"
  COMMAND sh -c "$<TARGET_FILE:murmurate> completion zsh >${service_files}/_murmurate"
  COMMAND ${CMAKE_COMMAND} -E touch ${service_files}/written
  DEPENDS murmurate COMMENT "Manual pages and completion" VERBATIM)
add_custom_target(murmurate_service ALL DEPENDS ${service_files}/written)

install(FILES packaging/murmurate.service DESTINATION lib/systemd/system COMPONENT daemon)
install(FILES packaging/serve.toml DESTINATION ${CMAKE_INSTALL_SYSCONFDIR}/murmurate COMPONENT daemon)
install(DIRECTORY ${service_files}/man1 DESTINATION ${CMAKE_INSTALL_MANDIR} COMPONENT daemon)
install(FILES ${service_files}/murmurate
  DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions COMPONENT daemon)
install(FILES ${service_files}/_murmurate
  DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/vendor-completions COMPONENT daemon)
install(FILES packaging/Dockerfile packaging/compose.yaml
  DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/murmurate/packaging COMPONENT daemon)
