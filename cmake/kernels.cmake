# One source compiled for each instruction set; the processor is asked at run time. Nothing in these
# files is visible outside them, so that code for one processor is never merged with code for another.
# (-Wno-*uninitialized: GCC 12 warns about its own AVX-512 headers, GCC bug 105593.)
set(avx2_flags -mavx2 -mfma)
set(avx512_flags -mavx512f -mavx512dq -mavx512bw -mavx512vl -mavx2 -mfma)
# Plain kernels are the ones that must give the same bits everywhere, also when somebody builds with
# -march=native.
set(plain_flags -ffp-contract=off)
set(gnu_quiet $<$<CXX_COMPILER_ID:GNU>:-Wno-maybe-uninitialized> $<$<CXX_COMPILER_ID:GNU>:-Wno-uninitialized>)
if(MINGW)  # GCC aligns a Windows stack to 16 bytes and spills as if it were 32 (GCC bug 54412)
  list(APPEND avx2_flags -Wa,-muse-unaligned-vector-move)
  list(APPEND avx512_flags -Wa,-muse-unaligned-vector-move)
endif()
set(kernel_sets plain)
if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
  list(APPEND kernel_sets avx2 avx512)
endif()

# murmurate_kernels(OUT NAME...): NAME_source.h of this folder made a source for every set, each with its
# flags and behind the vectors of its set; all of them in OUT.
function(murmurate_kernels out)
  file(RELATIVE_PATH folder ${PROJECT_SOURCE_DIR} ${CMAKE_CURRENT_SOURCE_DIR})
  foreach(set IN LISTS kernel_sets)
    foreach(name IN LISTS ARGN)
      set(source ${CMAKE_CURRENT_BINARY_DIR}/${name}_${set}.cc)
      file(CONFIGURE OUTPUT ${source} CONTENT
        "#include \"shared/compute/vector_${set}.h\"\n#include \"${folder}/${name}_source.h\"\n")
      list(APPEND sources ${source})
      set_source_files_properties(${source} PROPERTIES
        COMPILE_OPTIONS "-O3;-ffp-contract=fast;-fno-stack-protector;${gnu_quiet};${${set}_flags}")
    endforeach()
  endforeach()
  set(${out} ${sources} PARENT_SCOPE)
endfunction()
