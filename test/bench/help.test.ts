import { spawnSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { test } from 'tap'

const ASKING = [[], ['help'], ['--help'], ['-h']]

const PROGRAMS = [
  ['run.js', 'npm run bench -- [options]', ASKING],
  // Without a word it runs what its page says.
  ['trials/run.js', 'npm run trials -- [subject] [options]', ASKING.slice(1)],
] as const

for (const [program, usage, asking] of PROGRAMS) {
  test(`bench/${program} tells what there is and starts nothing`, async (t) => {
    const path = fileURLToPath(new URL(`../../bench/${program}`, import.meta.url))
    for (const words of asking) {
      const run = spawnSync(process.execPath, [path, ...words], { encoding: 'utf8', timeout: 60_000 })
      t.strictSame({ status: run.status, stderr: run.stderr }, { status: 0, stderr: '' }, words.join(' '))
      t.ok(run.stdout.startsWith(usage))
    }
  })
}
