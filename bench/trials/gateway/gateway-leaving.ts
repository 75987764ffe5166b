import { readFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { Connection } from '../../harness/http/connection.js'
import { describeOutcome } from '../../harness/sse/checked-streams.js'
import { callBytes, SLUICE_CHAT } from '../../performance/gateway/calls.js'
import { tagOf } from '../../performance/gateway/mock-models.js'
import { atMost, exactly, figure, over, type Trial, type TrialBar, type TrialContext } from '../trial.js'
import { type GatewayStage, readGauges, runStreams, stageGateway } from './gateway-stage.js'
import { LeavingClients } from './leaving-clients.js'

const LEAVERS = 1_000
const STAYERS = 200
const CLOSED_WITHIN_MS = 1_000
/** How long a socket that stays open is waited for, to tell how late it was. */
const PATIENCE_MS = 10_000
const POLL_MS = 10
const REACH_LIMIT_MS = 20_000
const TAGGED_CALLS = 1_000
const TAGGED_LANES = 32
const BACKLOG_FILLERS = 4

const DEAF_UPSTREAM = new URL('../../performance/gateway/deaf-upstream.js', import.meta.url)

/** The state to leave in, and what of it stays behind. */
interface LeavingPhase {
  readonly name: string
  readonly model: string
  /** True once all are where they are to leave from. */
  reached(leavers: LeavingClients): Promise<boolean>
  /** Upstream sockets that belong to the calls of this phase and are still there. */
  left(): Promise<number>
  /** Sockets to this upstream beyond those before the phase: what was closed may have been opened anew. */
  more(): Promise<number>
}

type LeavingResult = Awaited<ReturnType<typeof leaveInPhase>>

/** Milliseconds until `ready`, in steps of POLL_MS; infinite when that does not come within `limitMs`. */
async function msUntil(ready: () => Promise<boolean>, limitMs: number): Promise<number> {
  const begin = performance.now()
  while (!(await ready())) {
    if (performance.now() - begin > limitMs) return Number.POSITIVE_INFINITY
    await sleep(POLL_MS)
  }
  return performance.now() - begin
}

async function leaveInPhase(phase: LeavingPhase, port: number, callsStaying: number) {
  const leavers = new LeavingClients()
  await leavers.ask(port, phase.model, LEAVERS)
  const reached = (await msUntil(() => phase.reached(leavers), REACH_LIMIT_MS)) < REACH_LIMIT_MS
  const early = leavers.ended
    .slice(0, 3)
    .map((outcome) => `${phase.name}: ended early, ${describeOutcome(outcome)}`)
  leavers.leave()
  const begin = performance.now()
  const closedMs = await msUntil(async () => (await phase.left()) === 0, PATIENCE_MS)
  const gauge = await msUntil(async () => (await readGauges(port)).calls <= callsStaying, PATIENCE_MS)
  const gaugeMs = gauge === Number.POSITIVE_INFINITY ? gauge : performance.now() - begin
  await sleep(CLOSED_WITHIN_MS)
  const moreLater = await phase.more()
  return {
    phase: phase.name,
    reached,
    closedMs,
    /** Until the gateway's own gauge of calls said zero. */
    gaugeMs,
    moreLater,
    crossed: leavers.crossed,
    early,
  }
}

/** Phases at the mock; `aborted` counts closed connections of unfinished calls, whoever else is calling. */
async function mockPhase(
  { mock }: GatewayStage,
  name: string,
  model: string,
  reading: boolean,
): Promise<LeavingPhase> {
  const before = await mock.state()
  return {
    name,
    model,
    reached: async (leavers) =>
      reading ? leavers.reading === LEAVERS : (await mock.state()).started - before.started >= LEAVERS,
    left: async () => LEAVERS - ((await mock.state()).aborted - before.aborted),
    more: async () => (await mock.state()).sockets - before.sockets,
  }
}

/** Phases before a connection is there: counted where the sockets are, in the kernel. */
function connectPhase(name: string, model: string, port: number): LeavingPhase {
  const before = socketsTo(port)
  return {
    name,
    model,
    reached: async () => socketsTo(port) - before >= LEAVERS,
    left: async () => Math.max(0, socketsTo(port) - before),
    more: async () => socketsTo(port) - before,
  }
}

/** The upstreams that never get as far as an answer: one of TLS, and one whose queue is full. */
async function startSilentUpstreams({ staging }: TrialContext) {
  const server = createServer((socket) => {
    socket.on('error', () => {})
    // It reads what it is sent and never says hello back.
    socket.resume()
  })
  const tlsPort = await staging.freePort()
  const listening = { port: tlsPort, host: '127.0.0.1', backlog: 2_048 }
  await new Promise<void>((resolve) => server.listen(listening, resolve))
  const { port: backlogPort } = await staging.startHelper('generator', DEAF_UPSTREAM)
  // These take the places in its queue; from then on connects hang.
  for (let filler = 0; filler < BACKLOG_FILLERS; filler++)
    void Connection.open(backlogPort, 120_000).catch(() => {})
  await sleep(200)
  return {
    tlsPort,
    backlogPort,
    /** Closes the one of TLS. */
    close: () => server.close(),
  }
}

/** States of /proc/net/tcp in which a side still holds a socket; TIME_WAIT belongs to the kernel alone. */
const HELD = new Set(['01', '02', '04', '05', '08', '09', '0B'])

/** How many IPv4 sockets of this machine are connected, or still connecting, to `port`. */
function socketsTo(port: number): number {
  const suffix = `:${port.toString(16).toUpperCase().padStart(4, '0')}`
  const [, ...lines] = readFileSync('/proc/net/tcp', 'latin1').split('\n')
  return lines.filter((line) => {
    const [, , remote = '', state = ''] = line.trim().split(/\s+/)
    return remote.endsWith(suffix) && HELD.has(state)
  }).length
}

/** Tagged calls over connections used again and again: an answer of somebody else's would come here. */
async function askTagged(port: number): Promise<{ crossed: number; failed: number }> {
  let next = 0
  let crossed = 0
  let failed = 0
  const lane = async (): Promise<void> => {
    const connection = await Connection.open(port)
    while (next < TAGGED_CALLS && connection.usable) {
      const tag = tagOf(LEAVERS + next++)
      const answer = await connection.send(callBytes(SLUICE_CHAT, 'bench/json-tagged', tag))
      if (answer.status !== 200) failed++
      else if (!answer.body.includes(tag)) crossed++
    }
    connection.drop()
  }
  await Promise.all(Array.from({ length: TAGGED_LANES }, lane))
  return { crossed, failed: failed + Math.max(0, TAGGED_CALLS - next) }
}

type LeavingRound = Awaited<ReturnType<typeof oneRound>>

async function oneRound(context: TrialContext) {
  const silent = await startSilentUpstreams(context)
  const tls = {
    name: 'mute-tls',
    baseUrl: `https://127.0.0.1:${silent.tlsPort}/v1`,
    models: ['bench/silent-tls'],
  }
  const queue = `http://127.0.0.1:${silent.backlogPort}/v1`
  const stage = await stageGateway(context, {
    extra: [tls, { name: 'full-queue', baseUrl: queue, models: ['bench/silent-queue'] }],
  })
  const { mock, server } = stage
  const phases: LeavingResult[] = []
  const leave = async (phase: LeavingPhase, callsStaying = 0): Promise<void> => {
    const left = await leaveInPhase(phase, server.port, callsStaying)
    phases.push(left)
    context.progress(`${left.phase}: upstream sockets closed after ${left.closedMs.toFixed(0)} ms`)
  }
  // The one call the stage made has left an idle connection: the first count starts when it has gone.
  await msUntil(async () => (await mock.state()).sockets === 0, 30_000)
  await leave(await mockPhase(stage, 'mid-stream', 'bench/calm-100-tagged', true))
  const socketsAtMock = (await mock.state()).sockets
  const socketsByGauge = (await readGauges(server.port)).sockets
  const load = { model: 'bench/paced-64-tagged', streams: STAYERS, spreadMs: 1_000, seconds: 4 }
  const staying = runStreams(server.port, load)
  // All of them have begun by then, and none has ended for good.
  await sleep(1_500)
  await leave(await mockPhase(stage, 'mid-stream among others', 'bench/calm-100-tagged', true), STAYERS)
  const stayers = await staying
  await leave(await mockPhase(stage, 'before the first token', 'bench/headers', false))
  await leave(await mockPhase(stage, 'before the head', 'bench/silent', false))
  await leave(connectPhase('during TLS', 'bench/silent-tls', silent.tlsPort))
  await leave(connectPhase('during connect', 'bench/silent-queue', silent.backlogPort))
  const tagged = await askTagged(server.port)
  await stage.stop()
  silent.close()
  return {
    phases,
    /** Sockets the mock and the gauge counted once the first thousand had gone and nobody else had called yet. */
    socketsAtMock,
    socketsByGauge,
    stayers,
    tagged,
  }
}

function phaseBars({ phase, reached, closedMs, gaugeMs, moreLater }: LeavingResult): TrialBar[] {
  return [
    exactly(`${phase}: all ${LEAVERS} were there to leave (1 = yes)`, reached ? 1 : 0, 1),
    atMost(`${phase}: upstream sockets closed`, closedMs, CLOSED_WITHIN_MS, 'ms'),
    atMost(`${phase}: sluice_upstream_calls without them`, gaugeMs, CLOSED_WITHIN_MS, 'ms'),
    atMost(`${phase}: upstream sockets beyond those before, a second later`, moreLater, 0),
  ]
}

function barsOf({ phases, socketsAtMock, socketsByGauge, stayers, tagged }: LeavingRound): TrialBar[] {
  const crossed = over(phases).sum('crossed') + stayers.crossed + tagged.crossed
  return [
    ...phases.flatMap(phaseBars),
    exactly('sockets at the mock when all had left', socketsAtMock, 0),
    exactly('sluice_upstream_sockets when all had left', socketsByGauge, 0),
    exactly('crossed answers', crossed, 0),
    exactly('incomplete streams of those who stayed', stayers.incomplete, 0),
    exactly('tagged calls afterwards that failed', tagged.failed, 0),
  ]
}

export const gatewayLeaving: Trial = {
  name: 'gateway-leaving',
  summary:
    '1,000 clients leave mid-stream, before the first token, before the head, in TLS and in connect: all closed in 1 s',
  rounds: 1,
  roundLimitS: 300,
  pinned: true,
  run: async (context) => {
    const bars: TrialBar[] = []
    const notes: string[] = []
    for (let number = 1; number <= context.rounds; number++) {
      const round = await oneRound(context)
      const prefix = context.rounds === 1 ? '' : `round ${number}: `
      bars.push(...barsOf(round).map((bar) => ({ ...bar, name: prefix + bar.name })))
      notes.push(...round.phases.flatMap(({ early }) => early), ...round.stayers.notes)
    }
    const figures = [
      figure('clients leaving in each phase', LEAVERS),
      figure('streams that stayed meanwhile', STAYERS),
    ]
    return { bars, figures, notes }
  },
}
