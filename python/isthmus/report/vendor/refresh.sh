#!/bin/sh
# Fetches the drawing library of the report again, by package name and version, into this folder.
# Needs npm. After a change of versions: run tests/python/test_browser.py, and look at a report.
set -eu
cd "$(dirname "$0")"
vega=6.4.0 vega_lite=6.4.3 interpreter=2.3.2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

unpack() { # NAME VERSION
    (cd "$work" && npm pack --silent "$1@$2" >/dev/null && mkdir "$1" && tar xzf "$1-$2.tgz" -C "$1")
}
unpack vega "$vega"
unpack vega-lite "$vega_lite"
unpack vega-interpreter "$interpreter"

# Comments that name source maps are left out: the page loads nothing.
grep -v '^//# sourceMappingURL' "$work/vega/package/build/vega.min.js" >vega.min.js
grep -v '^//# sourceMappingURL' "$work/vega-lite/package/build/vega-lite.min.js" >vega-lite.min.js
# A module of its own there; here a plain script like the others.
{
    echo '(() => {'
    sed -e "s/^import {\(.*\)} from 'vega-util';/const {\1} = vega;/" \
        -e 's/^export { expression as expressionInterpreter };/window.vegaInterpreter = expression;/' \
        -e '/^\/\/# sourceMappingURL/d' \
        "$work/vega-interpreter/package/build/vega-interpreter.js"
    echo '})();'
} >vega-interpreter.js
cp "$work/vega/package/LICENSE" LICENSE
for name in vega vega-lite vega-interpreter; do
    sed -n 's/^ *"version": "\(.*\)",/'"$name"' \1/p' "$work/$name/package/package.json" | head -1
done >VERSIONS
