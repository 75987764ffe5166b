# Of the output of tap: every assertion that failed, behind the file and the tests it stands in, and the first lines of
# what it says of itself. awk -v lines=16 -f .ci/failures.awk LOG

{ match($0, /^ */); indent = RLENGTH }

inside && /^ *\.\.\.$/ { inside = 0; next }
inside {
  if (!/^ *$/ && said++ < lines) print substr($0, 1, 200)
  next
}
told { told = 0; if (/^ *---$/) { inside = 1; said = 0; next } }

/^ *# Subtest: / {
  open[indent] = $0; sub(/^ *# Subtest: /, "", open[indent])
  failures[indent] = 0
  next
}
/^ *(not )?ok [0-9]/ {
  isTest = open[indent] != ""; open[indent] = ""
  if (!/^ *not ok/ || /# (TODO|SKIP)/) next
  # A test that failed of an assertion within it has been told with that.
  if (isTest && failures[indent] > 0) next
  place = ""
  for (outer = 0; outer < indent; outer += 4) {
    failures[outer]++
    if (open[outer] != "") place = place open[outer] " > "
  }
  print place substr($0, indent + 1)
  told = 1
}
