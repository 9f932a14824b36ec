# The CUDA backend, for A100 (80), L40S and RTX 4090 (89), H100 and H200 (90), B200 (100); newer devices compile the intermediate code of the last
# when it is first run. What an older device lacks (fp8 before 89, nvfp4 before 100) is refused when it is asked for.
set(CMAKE_CUDA_COMPILER ${MAREA_NVCC})
if(NOT CMAKE_CUDA_ARCHITECTURES)
  set(CMAKE_CUDA_ARCHITECTURES 80-real 89-real 90-real 100)
endif()
enable_language(CUDA)
find_package(CUDAToolkit 13 REQUIRED)
if(NOT DEFINED CMAKE_CUDA20_STANDARD_COMPILE_OPTION)  # CMake 3.25 does not know it yet
  set(CMAKE_CUDA20_STANDARD_COMPILE_OPTION "-std=c++20")
endif()

add_library(marea_probe_cuda STATIC
  cuda/attention.cu cuda/backend.cu cuda/collective.cu cuda/dense.cu cuda/launch.cu cuda/memory.cu cuda/monitor.cpp cuda/runtime.cu cuda/small.cu)
target_link_libraries(marea_probe_cuda PUBLIC marea_probe Threads::Threads PRIVATE CUDA::cudart_static CUDA::cublasLt)
set_target_properties(marea_probe_cuda PROPERTIES
  CUDA_STANDARD 20 CUDA_EXTENSIONS OFF CUDA_RUNTIME_LIBRARY Static CUDA_COMPILER_LAUNCHER "${CMAKE_CXX_COMPILER_LAUNCHER}")
# The code that nvcc hands to the host compiler is its own rewriting, with parentheses nobody wrote.
target_compile_options(marea_probe_cuda PRIVATE
  $<$<COMPILE_LANGUAGE:CUDA>:--expt-relaxed-constexpr>
  $<$<COMPILE_LANGUAGE:CUDA>:-Xcompiler=-Wall -Xcompiler=-Wextra -Xcompiler=-Wno-missing-field-initializers -Xcompiler=-Wno-parentheses>
  $<$<COMPILE_LANGUAGE:CXX>:-Wall -Wextra -Wpedantic -Wshadow -Wno-missing-field-initializers>)
if(MAREA_WERROR)
  target_compile_options(marea_probe_cuda PRIVATE $<$<COMPILE_LANGUAGE:CUDA>:-Werror=all-warnings>)
endif()
