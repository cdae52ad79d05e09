# The CUDA toolkit, where there is one: as NVIDIA installs it, as a distribution does, or as Python packages (pip install
# nvidia-cuda-nvcc nvidia-cuda-runtime nvidia-cublas nvidia-cudnn-cu13). CMake's own language CUDA is not used: it fails
# where it finds no GPU's compiler.
#
#   MURMURATE_CUDA         ON: nvcc, the runtime and the headers of cuBLASLt are there
#   MURMURATE_CUDA_CUDNN   ON: the headers of cuDNN 9.8 or newer are, too
file(GLOB cuda_places /usr/local/cuda /usr/local/cuda-*
  $ENV{VIRTUAL_ENV}/lib/python3*/site-packages/nvidia/* $ENV{HOME}/.local/lib/python3*/site-packages/nvidia/*
  /usr/local/lib/python3*/site-packages/nvidia/* /usr/local/lib/python3*/dist-packages/nvidia/*
  /usr/lib/python3/dist-packages/nvidia/*)
list(PREPEND cuda_places $ENV{CUDA_PATH} $ENV{CUDA_HOME})
find_program(MURMURATE_NVCC nvcc HINTS ${cuda_places} PATH_SUFFIXES bin)
find_path(MURMURATE_CUDA_INCLUDE cuda_runtime.h HINTS ${cuda_places} PATH_SUFFIXES include)
find_path(MURMURATE_CUBLASLT_INCLUDE cublasLt.h HINTS ${MURMURATE_CUDA_INCLUDE} ${cuda_places} PATH_SUFFIXES include)
find_path(MURMURATE_CUDNN_INCLUDE cudnn_graph.h HINTS ${MURMURATE_CUDA_INCLUDE} ${cuda_places} PATH_SUFFIXES include)
find_path(MURMURATE_NCCL_INCLUDE nccl.h HINTS ${MURMURATE_CUDA_INCLUDE} ${cuda_places} PATH_SUFFIXES include)
find_library(MURMURATE_CUDART NAMES libcudart_static.a cudart HINTS ${cuda_places} PATH_SUFFIXES lib64 lib)
mark_as_advanced(MURMURATE_NVCC MURMURATE_CUDA_INCLUDE MURMURATE_CUBLASLT_INCLUDE MURMURATE_CUDNN_INCLUDE
  MURMURATE_NCCL_INCLUDE MURMURATE_CUDART)
set(MURMURATE_CUDA_ARCHITECTURES "90a-real;75" CACHE STRING
  "GPUs that kernels are compiled for: 90a-real is code for one kind, 75-virtual text that newer drivers compile, 75 both")

set(MURMURATE_CUDA OFF)
set(MURMURATE_CUDA_CUDNN OFF)
set(cuda_missing "")
foreach(part NVCC CUDA_INCLUDE CUBLASLT_INCLUDE CUDART)
  if(NOT MURMURATE_${part})
    set(cuda_missing "no CUDA toolkit (nvcc, the runtime, cuBLASLt)")
  endif()
endforeach()
if(NOT cuda_missing)
  execute_process(COMMAND ${MURMURATE_NVCC} --version OUTPUT_VARIABLE nvcc_version ERROR_QUIET)
  string(REGEX MATCH "release ([0-9]+\\.[0-9]+)" nvcc_version "${nvcc_version}")
  set(nvcc_version ${CMAKE_MATCH_1})
  if(NOT nvcc_version VERSION_GREATER_EQUAL 12.0)
    set(cuda_missing "nvcc ${nvcc_version} is older than 12.0")
  endif()
endif()
if(NOT cuda_missing)
  set(MURMURATE_CUDA ON)
  if(EXISTS ${MURMURATE_CUDNN_INCLUDE}/cudnn_version.h)
    file(STRINGS ${MURMURATE_CUDNN_INCLUDE}/cudnn_version.h cudnn_version REGEX "define CUDNN_(MAJOR|MINOR) [0-9]+")
    string(REGEX REPLACE "[^0-9]+" "." cudnn_version "${cudnn_version}")
    string(REGEX MATCH "[0-9]+\\.[0-9]+" cudnn_version "${cudnn_version}")
    if(cudnn_version VERSION_GREATER_EQUAL 9.8)  # plans for a described GPU
      set(MURMURATE_CUDA_CUDNN ON)
    endif()
  endif()
endif()
