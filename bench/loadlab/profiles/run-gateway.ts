/** Runs one profile of the model gateway: several loads at once in each stage. */

import { setTimeout as sleep } from 'node:timers/promises'
import { type ArrivalSchedule, arrivalSchedule, listedSchedule } from '../../harness/http/arrival-schedule.js'
import { HttpLoad, type LoadPlan } from '../../harness/http/http-load.js'
import type { Destination } from '../../harness/http/raw-connection.js'
import {
  type RequestSpec,
  renderRequest,
  requestBytes,
  resolveDestination,
} from '../../harness/http/requests.js'
import { readCost } from '../../harness/machine/proc.js'
import { StreamLoad } from '../../harness/sse/stream-load.js'
import { SPARE_FOR_BURSTS } from '../../harness/sse/stream-loop.js'
import { API_KEY } from '../../performance/gateway/calls.js'
import type { MockState } from '../../performance/gateway/mock-upstream.js'
import { connectionsForRate } from '../drivers/drive-command.js'
import { type DriveReport, driveReport } from '../drivers/drive-report.js'
import { seededChoice } from '../drivers/drive-stream-command.js'
import { type StreamReport, streamReport } from '../drivers/stream-report.js'
import { tracedLoad } from '../drivers/traced-load.js'
import { type FragmentResult, sendFragments } from './fragments.js'
import {
  type CallLoad,
  type GatewayProfile,
  type GatewayStage,
  isTraced,
  type TracedCallLoad,
} from './profile.js'
import { MIB, type ProfileRunContext, TIMEOUT_MS } from './run-practice.js'

interface GatewayRunContext extends ProfileRunContext {
  /** Of the mock upstream. */
  readonly upstream: string
  readonly progress: (line: string) => void
}

export interface CallResult {
  readonly label: string
  /** One of both. */
  readonly drive: DriveReport | null
  readonly stream: StreamReport | null
}

export interface GatewayResult {
  readonly label: string
  readonly calls: readonly CallResult[]
  /** Null when it still held some after five seconds. */
  readonly upstreamIdleMs: number | null
  /**
   * Calls that the upstream finished although their caller had left; null when a process stood for so long that the
   * leaving and the end were seen in one turn, which says nothing about the gateway.
   */
  readonly upstreamOverrun: number | null
  /** Longest time for which the gateway's loop did not turn, by its own probe: what came meanwhile came late. */
  readonly stallMs: number
  /** The same of the upstream or of the load, whichever stood longer. */
  readonly aroundMs: number
  readonly rssMiB: number
  readonly fragments: FragmentResult | null
}

const PATHS: Readonly<Record<CallLoad['endpoint'], string>> = {
  chat: '/api/v1/chat/completions',
  'chat-stream': '/api/v1/chat/completions',
  'messages-stream': '/api/v1/messages',
}

export async function* runGateway(
  profile: GatewayProfile,
  context: GatewayRunContext,
): AsyncGenerator<GatewayResult> {
  const to = await resolveDestination(new URL(context.origin))
  if (profile.fragments) yield await runFragmentStage(to, context)
  for (const stage of profile.stages) {
    if (context.interrupted()) return
    yield await runStage(stage, to, context)
  }
}

export function gatewaySeconds({ stages, fragments }: GatewayProfile, scale: number): number {
  return stages.reduce((sum, { seconds }) => sum + seconds * scale + 2, fragments ? 10 : 0)
}

async function runStage(stage: GatewayStage, to: Destination, context: GatewayRunContext) {
  const seconds = stage.seconds * context.scale
  const before = await upstreamState(context.upstream)
  const run = await context.control.start({
    label: stage.label,
    expect: { loop: 'closed' },
    // Streams may outlast their stage: the run is ended when the last of them has.
    measureS: seconds + TIMEOUT_MS / 1000 + LONGEST_TRACED_S,
    seed: context.seed,
    delays: 'random',
  })
  const around = watchUpstream(context.upstream)
  const calls = await Promise.all(
    stage.loads.map((load, i) => {
      if (isTraced(load)) return runTraced(load, seconds, to, context)
      const run = load.endpoint === 'chat' ? runChat : runStreams
      return run(load, seconds, to, context, i)
    }),
  )
  const aroundMs = await around()
  const { workers } = await context.control.stop(run)
  const stallMs = Math.max(0, ...workers.map(({ lag }) => lag.max))
  // After an interruption nobody waits for anything any more.
  if (context.interrupted())
    return { label: stage.label, calls, upstreamIdleMs: null, ...UNSEEN, rssMiB: 0, fragments: null }
  const upstreamIdleMs = await awaitUpstreamIdle(context.upstream)
  const after = await upstreamState(context.upstream)
  const finished = Math.max(0, after.completed - before.completed - answeredCalls(calls))
  const upstreamOverrun = Math.max(stallMs, aroundMs) > SOON_MS ? null : finished
  const rssMiB = (readCost(context.serverPids)?.rssBytes ?? 0) / MIB
  const calm = { upstreamIdleMs, upstreamOverrun, stallMs, aroundMs }
  return { label: stage.label, calls, ...calm, rssMiB, fragments: null }
}

/** An answer of a trace has thousands of tokens, 20 ms apart. */
const LONGEST_TRACED_S = 120

const UNSEEN = { upstreamOverrun: null, stallMs: 0, aroundMs: 0 }
/** The least that is left of a paced answer when its caller leaves is 0.7 s: within this a cancellation comes in time. */
const SOON_MS = 500
const WATCH_EVERY_MS = 50

/** Asks the upstream again and again; the returned function ends that and tells the longest silence beyond the pause. */
function watchUpstream(upstream: string): () => Promise<number> {
  let over = false
  let longest = 0
  const watch = async (): Promise<number> => {
    for (let last = performance.now(); !over; ) {
      await upstreamState(upstream).catch(() => {})
      await sleep(WATCH_EVERY_MS)
      const now = performance.now()
      longest = Math.max(longest, now - last - WATCH_EVERY_MS)
      last = now
    }
    return longest
  }
  const watching = watch()
  return () => {
    over = true
    return watching
  }
}

function callSchedule({ load }: CallLoad, seconds: number, seed: number): ArrivalSchedule | null {
  return load.kind === 'open' ? arrivalSchedule([{ seconds, rate: load.rate }], load.pattern, seed) : null
}

async function runChat(call: CallLoad, seconds: number, to: Destination, context: GatewayRunContext) {
  const { load, label } = call
  const request = renderRequest(callRequest(call), 0, '127.0.0.1')
  const connections = load.kind === 'closed' ? load.streams : connectionsForRate(load.rate)
  const plan: LoadPlan = {
    to,
    schedule: callSchedule(call, seconds, context.seed),
    seconds,
    connections,
    mostConnections: 10_000,
    timeoutMs: TIMEOUT_MS,
    kinds: [label],
    request: () => request,
  }
  const http = new HttpLoad(plan)
  context.running(http)
  const rate = load.kind === 'open' ? load.rate : null
  return { label, drive: driveReport(await http.run(), plan, ['profile', label], rate), stream: null }
}

async function runStreams(
  call: CallLoad,
  seconds: number,
  to: Destination,
  context: GatewayRunContext,
  index: number,
): Promise<CallResult> {
  const { load, abort, bytesPerS, paceMs, goal, label } = call
  const request = requestBytes(callRequest(call))
  const chosen = abort === undefined ? () => false : seededChoice(abort.share, context.seed + index)
  const streams = new StreamLoad({
    to,
    schedule: callSchedule(call, seconds, context.seed + index),
    seconds,
    streams: load.kind === 'closed' ? load.streams : 0,
    request: () => request,
    abort: (number) => (chosen(number) ? abort!.rule : null),
    bytesPerS: () => bytesPerS ?? null,
    silenceMs: TIMEOUT_MS,
    paceMs: paceMs ?? null,
    goal: goal ?? null,
  })
  context.running(streams)
  return { label, drive: null, stream: streamReport(await streams.run()) }
}

async function runTraced(
  call: TracedCallLoad,
  seconds: number,
  to: Destination,
  context: GatewayRunContext,
): Promise<CallResult> {
  const { load, model, bytesPerS, paceMs, goal, label } = call
  const traced = tracedLoad(load.file, load.speed, [model])
  const streams = new StreamLoad({
    to,
    schedule: listedSchedule(traced.times, seconds * 1000),
    ...{ seconds, streams: 0, spare: SPARE_FOR_BURSTS, silenceMs: TIMEOUT_MS },
    request: (index) => requestBytes(postOf(call, traced.call(index).body)),
    abort: () => null,
    bytesPerS: () => bytesPerS ?? null,
    paceMs: paceMs ?? null,
    goal: goal ?? null,
  })
  context.running(streams)
  return { label, drive: null, stream: streamReport(await streams.run()) }
}

function callRequest(call: CallLoad): RequestSpec {
  const { endpoint, model } = call
  const messages = [{ role: 'user', content: 'Say the words of the benchmark.' }]
  const body = { model, max_tokens: 4_096, messages, ...(endpoint !== 'chat' && { stream: true }) }
  return postOf(call, JSON.stringify(body))
}

function postOf({ endpoint }: Pick<CallLoad, 'endpoint'>, body: string): RequestSpec {
  const path = PATHS[endpoint]
  return { method: 'POST', route: path, path, headers: { Authorization: `Bearer ${API_KEY}` }, body }
}

const IDLE_LIMIT_MS = 5_000
const LOOK_EVERY_MS = 5

/** Milliseconds until the mock holds no call any more; null when it does after five seconds. */
async function awaitUpstreamIdle(upstream: string): Promise<number | null> {
  const began = performance.now()
  for (;;) {
    const state = await upstreamState(upstream)
    const passed = performance.now() - began
    if (state.busy === 0) return passed
    if (passed > IDLE_LIMIT_MS) return null
    await sleep(LOOK_EVERY_MS)
  }
}

async function upstreamState(upstream: string): Promise<MockState> {
  return (await (await fetch(`${upstream}/state`)).json()) as MockState
}

/** Answers that callers saw to their end. */
function answeredCalls(calls: readonly CallResult[]): number {
  return calls.reduce((sum, { drive, stream }) => sum + (drive?.report.done ?? stream?.ends.complete ?? 0), 0)
}

async function runFragmentStage(to: Destination, context: GatewayRunContext): Promise<GatewayResult> {
  const call: CallLoad = {
    label: 'fragments',
    endpoint: 'chat',
    model: 'bench/json',
    load: { kind: 'closed', streams: 1 },
  }
  const request = requestBytes(callRequest(call))
  const told = (done: number, all: number) => context.progress(`cut at byte ${done} of ${all}`)
  const fragments = await sendFragments(to, request, told, context.interrupted)
  const rssMiB = (readCost(context.serverPids)?.rssBytes ?? 0) / MIB
  const upstreamIdleMs = await awaitUpstreamIdle(context.upstream)
  return { label: 'fragments', calls: [], upstreamIdleMs, ...UNSEEN, rssMiB, fragments }
}
