#!/usr/bin/env bash
# Compile all modules for another system with zig's cross compiler, warnings as errors: `bash tools/cross.sh
# windows|macos|musl DIRECTORY`. Nothing is linked or run. Needs cython, cmake, ninja, numpy and ziglang for PYTHON, whose
# headers are used; for Windows with the parts of its configuration that they need. NumPy's headers come from its wheel for
# the other system.
set -euo pipefail
case $1 in
  windows) target=x86_64-windows-gnu system=Windows processor=AMD64 isa=v3 platform=win_amd64 ;;
  macos) target=aarch64-macos system=Darwin processor=arm64 isa=base platform=macosx_14_0_arm64 ;;
  musl) target=x86_64-linux-musl system=Linux processor=x86_64 isa=v3 platform=musllinux_1_2_x86_64 ;;
  *) echo "windows, macos or musl?"; exit 2 ;;
esac
mkdir -p "$2/include"
work=$(cd "$2" && pwd)
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
PYTHON=$(command -v "${PYTHON:-python3}")
headers=$("$PYTHON" -c 'import sysconfig; print(sysconfig.get_path("include"))')

cp -r "$headers/." "$work/include"
if [[ $system == Windows ]]; then
  cat > "$work/include/pyconfig.h" << 'END'
#define MS_WINDOWS
#define MS_WIN32
#define MS_WIN64
#define NT_THREADS
#define HAVE_DECLSPEC_DLL
#define HAVE_STDDEF_H 1
#define HAVE_WCHAR_H 1
#define SIZEOF_SHORT 2
#define SIZEOF_INT 4
#define SIZEOF_LONG 4
#define SIZEOF_LONG_LONG 8
#define SIZEOF_FLOAT 4
#define SIZEOF_DOUBLE 8
#define SIZEOF_SIZE_T 8
#define SIZEOF_VOID_P 8
#define SIZEOF_UINTPTR_T 8
#define SIZEOF_TIME_T 8
#define SIZEOF_WCHAR_T 2
END
fi
"$PYTHON" -m pip download -q --no-deps --only-binary :all: --platform "$platform" --dest "$work" numpy
"$PYTHON" -m zipfile -e "$work"/numpy-*.whl "$work/site"
for language in cc c++; do
  # zig has other names for processor levels.
  cat > "$work/$language" << END
#!/usr/bin/env bash
exec "$PYTHON" -m ziglang $language -target $target "\${@/#-march=x86-64-/-mcpu=x86_64_}"
END
  chmod +x "$work/$language"
done
# Replaces CMake's module, which requires a Python for the other system. Archives, because these need none of its
# libraries.
cat > "$work/FindPython.cmake" << 'END'
set(Python_FOUND TRUE)
function(Python_add_library name)
  cmake_parse_arguments(PARSE_ARGV 1 _arg "MODULE;WITH_SOABI" "" "")
  add_library(${name} STATIC ${_arg_UNPARSED_ARGUMENTS})
  target_include_directories(${name} SYSTEM PRIVATE ${Python_INCLUDE_DIR})
endfunction()
END
"$PYTHON" -m cmake -S "$root" -B "$work/build" -G Ninja -DMBT_ISA=$isa -DMBT_WERROR=ON -DCMAKE_MODULE_PATH="$work" \
  -DCMAKE_SYSTEM_NAME=$system -DCMAKE_SYSTEM_PROCESSOR=$processor -DCMAKE_TRY_COMPILE_TARGET_TYPE=STATIC_LIBRARY \
  -DCMAKE_C_COMPILER="$work/cc" -DCMAKE_CXX_COMPILER="$work/c++" \
  -DPython_EXECUTABLE="$PYTHON" -DPython_INCLUDE_DIR="$work/include" -DPython_NumPy_INCLUDE_DIRS="$work/site/numpy/_core/include"
"$PYTHON" -m cmake --build "$work/build"
echo "$target: compiled $(find "$work/build" -name "*.cxx.o*" ! -name "*.d" | wc -l) modules by $("$work/c++" --version | head -n 1)"
