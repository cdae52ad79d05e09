# CPack runs it when what goes into the packages is in place: with the prefix /usr, the folder etc
# lies in /usr, where no Debian package has one.
file(GLOB placed ${CPACK_TEMPORARY_DIRECTORY}/*/usr/etc)
foreach(folder ${placed})
  cmake_path(GET folder PARENT_PATH prefix)
  file(RENAME ${folder} ${prefix}/../etc)
endforeach()
