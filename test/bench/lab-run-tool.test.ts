import { readdirSync } from 'node:fs'
import { type Test, test } from 'tap'
import { runTool, type ToolRun } from '../../bench/loadlab/runner/run-tool.js'
import { matchNumber } from '../../bench/loadlab/tools/reading.js'
import type { ToolVariant } from '../../bench/loadlab/tools/tool.js'
import { TOY_FIGURES, toolPlace, toyVariant } from './toy-tool.js'

/** It is believed when it prints `done <n>`. */
const tool = (script: string, more = {}): ToolVariant =>
  toyVariant(
    script,
    ({ stdout }) => ({ ...TOY_FIGURES, done: matchNumber(stdout, /^done (\d+)$/m, 'count') }),
    more,
  )

async function run(t: Test, variant: ToolVariant, startingS = 20): Promise<ToolRun> {
  const place = toolPlace(t)
  const job = {
    url: new URL('http://127.0.0.1:1/'),
    connections: 1,
    seconds: 0.1,
    rate: null,
    timeoutS: 1,
    seed: 1,
  }
  const result = await runTool(variant, '', job, { ...place, startingS })
  t.same(readdirSync(place.tempFolder), [], 'its folder is gone')
  return result
}

/** Works until it has used 0.3 s of CPU, however long that takes on a machine that others use too. */
const BUSY = 'while (process.cpuUsage().user < 300000);'

test('what a tool prints is read, and its CPU and time are measured', async (t) => {
  const { figures, failure, cpuShare, wallS } = await run(t, tool(`${BUSY}; console.log('done 7')`))
  t.equal(failure, null)
  t.equal(figures?.done, 7)
  t.ok(wallS >= 0.3)
  t.ok(cpuShare! * wallS >= 0.28, `${cpuShare! * wallS} s of CPU for 0.3 s of work`)
})

test('the CPU of what a tool starts itself counts with it', async (t) => {
  const script = `require('child_process').spawnSync(process.execPath, ['-e', '${BUSY}']); console.log('done 1')`
  const { cpuShare, wallS } = await run(t, tool(script))
  t.ok(cpuShare! * wallS >= 0.28, `${cpuShare! * wallS} s of CPU`)
})

/** It ends, but what it says last is beyond what is kept. */
const ENDLESS =
  'const line = "x".repeat(65536); for (let i = 0; i < 1000; i++) process.stdout.write(line); console.log("\\ndone 3")'

const BROKEN: readonly (readonly [name: string, script: string, says: RegExp, more?: object])[] = [
  ['crashes', 'throw new Error("no memory")', /ended with code 1 and its output has no count/],
  ['prints nothing', '', /code 0 and its output has no count: it printed nothing/],
  ['prints something else', 'console.log("all is well")', /no count: .*all is well/],
  ['is killed', 'process.kill(process.pid, "SIGKILL")', /was killed by SIGKILL/],
  [
    'is killed after it printed',
    'console.log("done 5"); setTimeout(() => process.kill(process.pid, "SIGSEGV"), 50)',
    /was killed by SIGSEGV/,
  ],
  ['got no answer', 'console.log("done 0")', /no answer at all/],
  ['hangs', 'setInterval(() => {}, 1000)', /did not end within 1 s and was stopped/],
  ['is not there', '', /could not be started|code 1\d\d|has no count/, { argv: ['/nowhere/at/all'] }],
  ['prints without end', ENDLESS, /has no count/],
]

for (const [name, script, says, more] of BROKEN) {
  test(`a tool that ${name} gives no figures but a sentence`, async (t) => {
    const { figures, failure } = await run(t, tool(script, more), name === 'hangs' ? 0.4 : 20)
    t.equal(figures, null)
    t.match(failure, says)
  })
}

test('files are written before, a second command reports after', async (t) => {
  const variant = tool(
    'process.stdout.write(require("fs").readFileSync("notes", "utf8").length > 0 ? "read\\n" : "")',
    {
      files: { notes: 'a note\n' },
      reportedBy: [process.execPath, '-e', 'console.log("done 9")'],
    },
  )
  const { figures } = await run(t, variant)
  t.equal(figures?.done, 9)
})
