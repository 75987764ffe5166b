import { mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Test, test } from 'tap'
import { ChildProcesses } from '../../bench/harness/server/child-processes.js'
import { runTool, type ToolRun } from '../../bench/loadlab/runner/run-tool.js'
import { matchNumber } from '../../bench/loadlab/tools/reading.js'
import type { ToolVariant } from '../../bench/loadlab/tools/tool.js'

/** A tool that is a line of JavaScript; it is believed when it prints `done <n>`. */
function tool(script: string, more: Partial<ReturnType<ToolVariant['command']>> = {}): ToolVariant {
  return {
    name: 'toy',
    says: 'a toy',
    loop: 'closed',
    rate: 'none',
    command: () => ({ argv: [process.execPath, '-e', script], ...more }),
    parse: ({ stdout, file }) => ({
      durationS: 1,
      done: matchNumber(`${stdout}${file('notes') ?? ''}`, /^done (\d+)$/m, 'count'),
      errors: {},
      statuses: {},
      rps: 1,
      percentiles: {},
      quantum: 1,
    }),
  }
}

async function run(t: Test, variant: ToolVariant, startingS = 20): Promise<ToolRun> {
  const tempFolder = mkdtempSync(join(tmpdir(), 'lab-run-tool-'))
  const children = new ChildProcesses()
  t.teardown(async () => {
    await children.stopAll()
    rmSync(tempFolder, { recursive: true, force: true })
  })
  const job = {
    url: new URL('http://127.0.0.1:1/'),
    connections: 1,
    seconds: 0.1,
    rate: null,
    timeoutS: 1,
    seed: 1,
  }
  const result = await runTool(variant, '', job, { cores: null, children, tempFolder, startingS })
  t.same(readdirSync(tempFolder), [], 'its folder is gone')
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

interface Broken {
  readonly name: string
  readonly script: string
  readonly says: RegExp
}

const BROKEN: readonly Broken[] = [
  {
    name: 'crashes',
    script: 'throw new Error("no memory")',
    says: /ended with code 1 and its output has no count/,
  },
  { name: 'prints nothing', script: '', says: /code 0 and its output has no count: it printed nothing/ },
  { name: 'prints something else', script: 'console.log("all is well")', says: /no count: .*all is well/ },
  { name: 'is killed', script: 'process.kill(process.pid, "SIGKILL")', says: /was killed by SIGKILL/ },
  {
    name: 'is killed after it printed',
    script: 'console.log("done 5"); setTimeout(() => process.kill(process.pid, "SIGSEGV"), 50)',
    says: /was killed by SIGSEGV/,
  },
  { name: 'got no answer', script: 'console.log("done 0")', says: /no answer at all/ },
]

for (const { name, script, says } of BROKEN) {
  test(`a tool that ${name} gives no figures but a sentence`, async (t) => {
    const { figures, failure } = await run(t, tool(script))
    t.equal(figures, null)
    t.match(failure, says)
  })
}

test('a tool that hangs is stopped', async (t) => {
  const { figures, failure } = await run(t, tool('setInterval(() => {}, 1000)'), 0.4)
  t.equal(figures, null)
  t.match(failure, /did not end within 1 s and was stopped/)
})

test('a tool that is not there gives a sentence', async (t) => {
  const missing: ToolVariant = { ...tool(''), command: () => ({ argv: ['/nowhere/at/all'] }) }
  const { failure } = await run(t, missing)
  t.match(failure, /could not be started|code 1\d\d|has no count/)
})

test('a tool that prints without end does not fill the memory', async (t) => {
  const script =
    'const line = "x".repeat(65536); for (let i = 0; i < 1000; i++) process.stdout.write(line); console.log("\\ndone 3")'
  const { failure } = await run(t, tool(script))
  t.match(failure, /has no count/)
})

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
