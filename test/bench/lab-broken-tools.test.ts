/** Tools that break, in front of a real server: the run says so, and the server is as it was. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'tap'
import { ChildProcesses } from '../../bench/harness/server/child-processes.js'
import { LabControl } from '../../bench/loadlab/runner/control.js'
import { runRepetition } from '../../bench/loadlab/runner/repetition.js'
import { COMPARE_SCENARIOS } from '../../bench/loadlab/runner/scenarios.js'
import { TOOLS } from '../../bench/loadlab/tools/catalogue.js'
import { type ToolFigures, type ToolVariant, UnreadableOutput } from '../../bench/loadlab/tools/tool.js'
import { type LabServer, startLab } from '../support/servers/lab-server.js'

const SCENARIO = COMPARE_SCENARIOS.find(({ name }) => name === 'hold')!
const WRK = TOOLS.find(({ name }) => name === 'wrk')!

/** Four connections that ask again and again, until what `end` says happens. */
const load = (url: URL, end: string): string => `
  const { Agent, get } = require('node:http')
  const agent = new Agent({ keepAlive: true, maxSockets: 4 })
  let done = 0
  const ask = () => get(${JSON.stringify(url.href)}, { agent }, (res) => { done++; res.resume().on('end', ask) }).on('error', () => {})
  for (let i = 0; i < 4; i++) ask()
  ${end}`

const FIGURES: ToolFigures = {
  durationS: 1,
  done: 100,
  errors: {},
  statuses: { '200': 100 },
  rps: 100,
  mean: 1,
  percentiles: { p50: 1, p99: 2 },
  max: 3,
  quantum: 0.001,
}

interface Row {
  readonly name: string
  readonly end: string
  readonly figures?: Partial<ToolFigures>
  /** Null: it is judged. */
  readonly failure: RegExp | null
  readonly reason: RegExp
}

const ROWS: readonly Row[] = [
  {
    name: 'a tool that is killed in the middle of its run',
    end: `setTimeout(() => process.kill(process.pid, 'SIGKILL'), 400)`,
    failure: /killed by SIGKILL/,
    reason: /toy gave no figures that could be judged: it was killed by SIGKILL/,
  },
  {
    name: 'a tool that crashes',
    end: `setTimeout(() => { throw new Error('out of luck') }, 400)`,
    failure: /ended with code 1 and/,
    reason: /no figures that could be judged/,
  },
  {
    name: 'a tool that hangs',
    end: '',
    failure: /did not end within \d+ s and was stopped/,
    reason: /did not end/,
  },
  {
    name: 'a tool that prints nothing',
    end: 'setTimeout(() => process.exit(0), 400)',
    failure: /ended with code 0 and it printed nothing/,
    reason: /printed nothing/,
  },
  {
    name: 'a tool with more answers than it sent requests',
    end: `setTimeout(() => { console.log('done'); process.exit(0) }, 400)`,
    figures: { done: 100, sent: 50 },
    failure: /its report was refused: .*400.*done: is more than was sent/,
    reason: /refused/,
  },
  {
    name: 'a tool whose answers the server never gave',
    end: `setTimeout(() => { console.log('done'); process.exit(0) }, 400)`,
    figures: { durationS: 0.4, done: 10_000_000, statuses: { '2xx': 10_000_000 }, rps: 25_000_000 },
    failure: null,
    reason:
      /V1 conservation: the server counted \d+ requests, the client 10000000: \d+ of them never reached/,
  },
]

function toy(row: Row): ToolVariant {
  return {
    ...WRK.variants[0]!,
    name: 'toy',
    command: ({ url }) => ({ argv: [process.execPath, '-e', load(url, row.end)] }),
    parse: ({ stdout }) => {
      if (stdout === '') throw new UnreadableOutput('it printed nothing')
      return { ...FIGURES, ...row.figures }
    },
  }
}

async function untouched(server: LabServer): Promise<Record<string, unknown>> {
  const { json: faults } = await server.ask('GET', '/lab/v1/faults')
  const { status } = await fetch(`${server.url}/api/v1/health`)
  const next = await server.begin()
  const { total, marks } = await server.stop(next)
  return { faults: faults.faults, status, arrivals: total.arrivals, marks }
}

test('whatever a tool does, its run is marked and ended, and the server goes on', async (t) => {
  const server = await startLab(t, { SLUICE_WORKERS: '1' })
  const tempFolder = mkdtempSync(join(tmpdir(), 'lab-broken-'))
  const children = new ChildProcesses()
  t.teardown(async () => {
    await children.stopAll()
    rmSync(tempFolder, { recursive: true, force: true })
  })
  for (const row of ROWS) {
    await t.test(row.name, async (t) => {
      const planned = {
        round: 1,
        scenario: SCENARIO,
        installed: { tool: WRK, version: 'toy 1', program: '' },
        variant: toy(row),
        seconds: 1,
      }
      const place = { cores: null, children, tempFolder, startingS: 0.2 }
      const control = new LabControl(server.labUrl)
      const stage = { control, origin: server.url, serverPids: null, place, seed: 3 }
      const { failure, verdict, truth } = await runRepetition(planned, stage)
      if (row.failure === null) t.equal(failure, undefined)
      else t.match(failure, row.failure)
      t.equal(verdict.verdict, 'invalid')
      t.match(verdict.reasons[0], row.reason)
      const { arrivals, completed, aborted, inFlight } = truth.total
      t.ok(arrivals > 0, 'it had sent something')
      t.equal(arrivals, completed + aborted + inFlight)
      t.equal(truth.state, 'stopped')
      t.same(await untouched(server), { faults: [], status: 200, arrivals: 0, marks: [] })
    })
  }
})
