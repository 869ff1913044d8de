#!/usr/bin/env bash
# Build mbt for aarch64 with a cross compiler, and run it in an emulator: `bash tools/aarch64.sh DIRECTORY [TESTS...]`.
# Needs Debian with its packages g++-aarch64-linux-gnu and qemu-user, and the Python of that release with numpy, cython,
# cmake and ninja (PYTHON). Python for aarch64 comes from Debian, the wheels from pip; everything goes into DIRECTORY.
set -euo pipefail
mkdir -p "$1"
work=$(cd "$1" && pwd)
shift
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
PYTHON=${PYTHON:-python3}
version=$("$PYTHON" -c 'import sys; print("%d.%d" % sys.version_info[:2])')

# CPython, its headers and their dependencies, unpacked but not installed.
if [[ ! -d $work/root/usr ]]; then
  mkdir -p "$work"/{state/lists/partial,cache/archives/partial,debs,root}
  touch "$work/state/status"
  options=(-o APT::Architecture=arm64 -o APT::Architectures::=arm64 -o APT::Sandbox::User=root
    -o "Dir::State=$work/state" -o "Dir::State::status=$work/state/status" -o "Dir::Cache=$work/cache")
  apt-get "${options[@]}" -qq update
  (cd "$work/debs" && apt-get "${options[@]}" -qq download "python$version-minimal" "libpython$version"{,-minimal,-stdlib,-dev} \
    libc6 libstdc++6 libgcc-s1 zlib1g libexpat1 libssl3 libffi8 libbz2-1.0 liblzma5 libsqlite3-0 libuuid1 libtinfo6 libncursesw6)
  for package in "$work"/debs/*.deb; do dpkg -x "$package" "$work/root"; done
fi
abi=${version/./}
"$PYTHON" -m pip download -q --dest "$work/wheels" --only-binary :all: --python-version "$version" --abi "cp$abi" --abi abi3 --abi none \
  --platform manylinux2014_aarch64 --platform manylinux_2_17_aarch64 --platform manylinux_2_27_aarch64 --platform manylinux_2_28_aarch64 \
  --platform any numpy pytest hypothesis mpmath sympy scipy
mkdir -p "$work/site"
for wheel in "$work"/wheels/*.whl; do "$PYTHON" -m zipfile -e "$wheel" "$work/site"; done

# Debian's headers include others by the name of the architecture. CMake runs the interpreter of this machine as if in an
# emulator.
"$PYTHON" -m cmake -S "$root" -B "$work/build" -G Ninja -DCMAKE_SYSTEM_NAME=Linux -DCMAKE_SYSTEM_PROCESSOR=aarch64 -DCMAKE_CROSSCOMPILING_EMULATOR=/usr/bin/env \
  -DCMAKE_CXX_FLAGS_RELEASE=-O1 -DCMAKE_C_COMPILER=aarch64-linux-gnu-gcc -DCMAKE_CXX_COMPILER=aarch64-linux-gnu-g++ -DCMAKE_INSTALL_PREFIX="$work/site" \
  -DCMAKE_CXX_FLAGS="-isystem $work/root/usr/include" -DCMAKE_C_FLAGS="-isystem $work/root/usr/include" \
  -DPython_EXECUTABLE="$(command -v "$PYTHON")" -DPython_SOABI="cpython-$abi-aarch64-linux-gnu" -DPython_NumPy_FOUND=ON \
  -DPython_INCLUDE_DIR="$work/root/usr/include/python$version" -DPython_NumPy_INCLUDE_DIR="$work/site/numpy/_core/include"
"$PYTHON" -m cmake --build "$work/build"
"$PYTHON" -m cmake --install "$work/build"
# CMake names modules as for the interpreter of this machine.
find "$work/site/mbt" -name "*.cpython-*.so" ! -name "*-aarch64-linux-gnu.so" | while read -r module; do
  mv "$module" "${module%%.cpython-*}.cpython-$abi-aarch64-linux-gnu.so"
done
cp -r "$root/src/mbt/." "$work/site/mbt/"
cp -r "$("$PYTHON" -c 'import importlib.metadata as m; print(m.distribution("multibodytree")._path)')" "$work/site/"

cat > "$work/python" << EOF
#!/bin/sh
exec qemu-aarch64 -L "$work/root" -E LD_LIBRARY_PATH=$work/root/lib/aarch64-linux-gnu:$work/root/usr/lib/aarch64-linux-gnu \\
  -E PYTHONHOME=$work/root/usr -E PYTHONPATH=$work/site -E PYTHONDONTWRITEBYTECODE=1 "$work/root/usr/bin/python$version" "\$@"
EOF
chmod +x "$work/python"
"$work/python" -m mbt demo
(($# == 0)) || (cd "$root" && "$work/python" -m pytest -q -p no:xdist -p no:cacheprovider "$@")
