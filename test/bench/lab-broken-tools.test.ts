/** Tools that break, in front of a real server: the run says so, and the server is as it was. */
import { test } from 'tap'
import { LabControl } from '../../bench/loadlab/runner/control.js'
import { runRepetition } from '../../bench/loadlab/runner/repetition.js'
import { type ToolFigures, UnreadableOutput } from '../../bench/loadlab/tools/tool.js'
import { type LabServer, startLab, withoutLateness } from '../support/servers/lab-server.js'
import { TOY_FIGURES, toolPlace, toyRun, toyVariant } from './toy-tool.js'

/** Four connections that ask again and again, until what `end` says happens. */
const load = (url: URL, end: string): string => `
  const { Agent, get } = require('node:http')
  const agent = new Agent({ keepAlive: true, maxSockets: 4 })
  let done = 0
  const ask = () => get(${JSON.stringify(url.href)}, { agent }, (res) => { done++; res.resume().on('end', ask) }).on('error', () => {})
  for (let i = 0; i < 4; i++) ask()
  ${end}`

/** What ApacheBench asks, and siege without a protocol: a dozen connections, all refused. */
const oldProtocol = (url: URL): string => `
  const { connect } = require('node:net')
  let left = 12
  const ask = () => {
    if (left-- === 0) return console.log('done')
    const socket = connect(${url.port}, '127.0.0.1', () => socket.write('GET ${url.pathname} HTTP/1.0\\r\\n\\r\\n'))
    socket.resume().on('error', () => {}).on('close', ask)
  }
  ask()`

interface Row {
  readonly script?: (url: URL) => string
  readonly end: string
  readonly figures?: Partial<ToolFigures>
  /** None: it is judged. */
  readonly failure?: RegExp
  readonly reason: RegExp
}

const PRINTS = `setTimeout(() => { console.log('done'); process.exit(0) }, 400)`

const ROWS: Readonly<Record<string, Row>> = {
  'a tool that is killed in the middle of its run': {
    end: `setTimeout(() => process.kill(process.pid, 'SIGKILL'), 400)`,
    failure: /killed by SIGKILL/,
    reason: /toy gave no figures that could be judged: it was killed by SIGKILL/,
  },
  'a tool that crashes': {
    end: `setTimeout(() => { throw new Error('out of luck') }, 400)`,
    failure: /ended with code 1 and/,
    reason: /no figures that could be judged/,
  },
  'a tool that hangs': {
    end: '',
    failure: /did not end within \d+ s and was stopped/,
    reason: /did not end/,
  },
  'a tool that prints nothing': {
    end: 'setTimeout(() => process.exit(0), 400)',
    failure: /ended with code 0 and it printed nothing/,
    reason: /printed nothing/,
  },
  'a tool with more answers than it sent requests': {
    end: PRINTS,
    figures: { done: 100, sent: 50 },
    failure: /its report was refused: .*400.*done: is more than was sent/,
    reason: /refused/,
  },
  'a tool whose answers the server never gave': {
    end: PRINTS,
    figures: { durationS: 0.4, done: 10_000_000, statuses: { '2xx': 10_000_000 }, rps: 25_000_000 },
    reason:
      /V1 conservation: the server counted \d+ requests, the client 10000000: \d+ of them never reached/,
  },
}

/** Rows in which the server takes no request. */
const REFUSED: Readonly<Record<string, Row>> = {
  'a tool that speaks HTTP/1.0': {
    end: '',
    script: oldProtocol,
    figures: { done: 0, statuses: {}, rps: 0, errors: { error: 12 } },
    failure:
      /no answer at all \(error 12\); the server had 12 connections of it and no request .* HTTP\/1\.0 or malformed with 505/,
    reason: /toy gave no figures/,
  },
  'a tool that never comes': {
    end: '',
    script: () => `console.log('done')`,
    figures: { done: 0, statuses: {}, rps: 0 },
    failure: /no answer at all; it never connected to the server/,
    reason: /toy gave no figures/,
  },
}

async function untouched(server: LabServer): Promise<Record<string, unknown>> {
  const { json: faults } = await server.ask('GET', '/lab/v1/faults')
  const { status } = await fetch(`${server.url}/api/v1/health`)
  const next = await server.begin()
  const { total, marks } = await server.stop(next)
  return { faults: faults.faults, status, arrivals: total.arrivals, marks: withoutLateness(marks) }
}

test('whatever a tool does, its run is marked and ended, and the server goes on', async (t) => {
  const server = await startLab(t, { SLUICE_WORKERS: '1' })
  const place = toolPlace(t)
  const stage = {
    control: new LabControl(server.labUrl),
    origin: server.url,
    serverPids: null,
    seed: 3,
  }
  for (const [name, row] of Object.entries({ ...ROWS, ...REFUSED })) {
    const { end, script, figures, failure: said, reason } = row
    await t.test(name, async (t) => {
      const variant = toyVariant(
        ({ url }) => script?.(url) ?? load(url, end),
        ({ stdout }) => {
          if (stdout === '') throw new UnreadableOutput('it printed nothing')
          return { ...TOY_FIGURES, statuses: { '200': 100 }, ...figures }
        },
      )
      const { failure, verdict, truth } = await runRepetition(toyRun(variant, 'hold'), {
        ...stage,
        // So long a tool may take to start, and one that hangs hangs for.
        place: { ...place, startingS: name === 'a tool that hangs' ? 4 : 20 },
      })
      if (said === undefined) t.equal(failure, undefined)
      else t.match(failure, said)
      t.equal(verdict.verdict, 'invalid')
      t.match(verdict.reasons[0], reason)
      const { arrivals, completed, aborted, inFlight } = truth.total
      t.equal(arrivals > 0, script === undefined, 'it had sent something')
      t.equal(arrivals, completed + aborted + inFlight)
      t.equal(truth.state, 'stopped')
      t.same(await untouched(server), { faults: [], status: 200, arrivals: 0, marks: [] })
    })
  }
})
