# One way to make a target, so that every room is compiled alike.

# marea_flags(TARGET): warnings, exact floating point, optional sanitizers.
function(marea_flags target)
  # -ffp-contract=off: fused multiply-adds would make results depend on the compiler.
  target_compile_options(${target} PRIVATE -Wall -Wextra -Wpedantic -Wshadow -Wno-missing-field-initializers -ffp-contract=off)
  if(MAREA_WERROR)
    target_compile_options(${target} PRIVATE -Werror)
  endif()
  if(MAREA_SANITIZE)
    target_compile_options(${target} PRIVATE -fsanitize=address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer)
    target_link_options(${target} PRIVATE -fsanitize=address,undefined)
    if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")  # it warns of reads and lengths that only the added checks make look possible
      target_compile_options(${target} PRIVATE -Wno-uninitialized -Wno-maybe-uninitialized -Wno-stringop-overflow -Wno-array-bounds)
    endif()
  endif()
  if(MAREA_FUZZ)  # coverage, so that libFuzzer sees into the rooms
    target_compile_options(${target} PRIVATE -fsanitize=fuzzer-no-link,address,undefined -fno-sanitize-recover=all)
    target_link_options(${target} PRIVATE -fsanitize=address,undefined)
  endif()
endfunction()

# marea_unity(TARGET): its sources are compiled together where MAREA_UNITY asks for it.
function(marea_unity target)
  set_target_properties(${target} PROPERTIES UNITY_BUILD ${MAREA_UNITY} UNITY_BUILD_BATCH_SIZE 12)
  if(MAREA_UNITY AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    # A source's own types look as if they came from a header; and GCC 12 sees overlaps in string + string that are not there (its bug 105651).
    target_compile_options(${target} PRIVATE -Wno-subobject-linkage -Wno-restrict)
  endif()
endfunction()

# marea_room(NAME SOURCES ... LINK ...): the static library marea_NAME of one room. LINK names the rooms and packages it uses.
function(marea_room name)
  cmake_parse_arguments(ROOM "" "" "SOURCES;LINK" ${ARGN})
  add_library(marea_${name} STATIC ${ROOM_SOURCES})
  target_include_directories(marea_${name} PUBLIC ${PROJECT_SOURCE_DIR})
  target_link_libraries(marea_${name} PUBLIC ${ROOM_LINK})
  marea_flags(marea_${name})
  marea_unity(marea_${name})
endfunction()

# marea_test(NAME SOURCES ... LINK ...): one doctest program, registered with ctest under its name.
function(marea_test name)
  cmake_parse_arguments(TEST "" "" "SOURCES;LINK" ${ARGN})
  add_executable(test_${name} ${TEST_SOURCES})
  target_include_directories(test_${name} PRIVATE ${PROJECT_SOURCE_DIR})
  target_precompile_headers(test_${name} PRIVATE <doctest/doctest.h> <map> <string> <vector>)
  target_compile_definitions(test_${name} PRIVATE MAREA_SOURCE_DIR="${PROJECT_SOURCE_DIR}")
  target_link_libraries(test_${name} PRIVATE ${TEST_LINK} marea_test_main)
  marea_flags(test_${name})
  add_test(NAME ${name} COMMAND test_${name} WORKING_DIRECTORY ${PROJECT_SOURCE_DIR})
endfunction()
