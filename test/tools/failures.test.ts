/** What CI tells once more at its end. */
import { spawnSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { test } from 'tap'

const AWK = fileURLToPath(new URL('../../../.ci/failures.awk', import.meta.url))

const LOG = `# Subtest: dist/test/a.test.js
    # Subtest: a test
        ok 1 - fine
        not ok 2 - later # TODO
        not ok 3 - should be equal
          ---
          compare: ===
          at:
            fileName: test/a.test.ts
          ...
        1..3
    not ok 1 - a test # time=1ms
      ---
      at: told already
      ...
    # Subtest: one that never ended
    not ok 2 - one that never ended # time=3ms
      ---
      expired: one that never ended
      ...
    not ok 3 - timeout!
not ok 1 - dist/test/a.test.js # time=9ms
  ---
  command: told already
  ...
ok 2 - dist/test/b.test.js
not ok 3 - dist/test/c.test.js
`

test('each assertion that failed is told with its place and the first lines of its diagnostics', async (t) => {
  const { stdout, stderr } = spawnSync('awk', ['-v', 'lines=2', '-f', AWK], { input: LOG, encoding: 'utf8' })
  t.equal(stderr, '')
  t.same(stdout.split('\n'), [
    'dist/test/a.test.js > a test > not ok 3 - should be equal',
    '          compare: ===',
    '          at:',
    'dist/test/a.test.js > not ok 2 - one that never ended # time=3ms',
    '      expired: one that never ended',
    'dist/test/a.test.js > not ok 3 - timeout!',
    'not ok 3 - dist/test/c.test.js',
    '',
  ])
})
