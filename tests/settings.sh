#!/bin/sh
# Every setting in base/settings.def has its entry in vocl(7).
. "$(dirname "$0")/lib.sh"
settings=$(sed -n 's/^SETTING(\([A-Z_]*\),.*/VOCL_\1/p' "$top_srcdir/base/settings.def")
[ -n "$settings" ] || fail "no settings found"
for setting in $settings; do
    grep -qx "\.B $setting" "$top_srcdir/doc/vocl.7" || fail "$setting is not in doc/vocl.7"
done
