/** The sides of a scenario, our server and its floor: each is something that can be measured once per round. */

import type { ChildProcess } from 'node:child_process'
import { mkdtempSync } from 'node:fs'
import { join } from 'node:path'
import { distinctRoutes, type IdPlan } from '../harness/http/requests.js'
import type { Pinning } from '../harness/machine/pinning.js'
import {
  type ChildProcesses,
  exchangeMessage,
  freePort,
  startProgram,
} from '../harness/server/child-processes.js'
import type { LoadTarget } from '../harness/server/sluice-server.js'
import type { LoopFigures, LoopJob, LoopWork } from './floor-loop.js'
import type { FloorJob, FloorReady } from './floor-server.js'
import { figuresOfLoad, figuresOfLoop, type GeneratorMessage, type LoadJob, type SideFigures } from './job.js'
import type { BenchOptions } from './options.js'
import { type SampledReply, sampleReply } from './sample-reply.js'
import type { Scenario } from './scenarios.js'

export interface CampaignSettings extends BenchOptions {
  /** The generator with its version, as the report names it. */
  readonly toolVersion: string
  readonly pinning: Pinning
  /** Path of the built server. */
  readonly serverProgram: string
  readonly tempFolder: string
  /** The program of the other gateway to run beside ours; null for none. */
  readonly peerProgram: string | null
}

/** A scenario with all that is needed to run it. */
export interface ScenarioRun {
  readonly scenario: Scenario
  readonly settings: CampaignSettings
  readonly children: ChildProcesses
}

/** One warm-up and one measurement, as long as the settings say or `load` does. Throws when the side does not survive them. */
export type MeasuredSide = (load?: Partial<LoadJob>) => Promise<SideFigures>

/** What one scenario measures in each round. */
export interface ScenarioSides {
  readonly ours: MeasuredSide
  readonly floor?: MeasuredSide
  /** Another gateway on the same load. */
  readonly peer?: MeasuredSide
  /** Measures ours on one connection, where the scenario asks for a figure per item. */
  readonly solo?: (seconds: number) => Promise<SideFigures>
  stop(): Promise<unknown>
}

export const NO_IDS: IdPlan = { next: 1, spread: 1 }

/** Starts our server as the settings say, on a data folder of its own, with the environment that `environment` makes. */
export async function startServer(
  { scenario, settings, children }: ScenarioRun,
  seedItems = 0,
  environment: (folder: string) => Readonly<Record<string, string>> = () => ({}),
): Promise<LoadTarget> {
  const dataFolder = mkdtempSync(join(settings.tempFolder, 'data-'))
  return await children.startServer({
    program: settings.serverProgram,
    workers: settings.workers,
    ...(seedItems > 0 && { seedItems }),
    // As many as its floor has.
    ...(scenario.floor.kind === 'pbkdf2' && { poolThreads: 1 }),
    cores: settings.pinning.serverCores,
    dataFolder,
    environment: environment(dataFolder),
  })
}

/** A program that listens, as something to load. */
export function programTarget(child: ChildProcess, port: number, children: ChildProcesses): LoadTarget {
  return {
    origin: `http://127.0.0.1:${port}`,
    pids: [child.pid!],
    gone: () => child.exitCode !== null || child.signalCode !== null,
    stop: () => children.stop(child),
  }
}

/**
 * Starts the sides of a scenario whose floor is a bare server, bare threads or nothing. A scenario that writes gets a
 * server with a fresh store in every round. Throws when a server does not come up.
 */
export async function startPlainSides(run: ScenarioRun): Promise<ScenarioSides> {
  const { scenario } = run
  let target = await startServer(run, scenario.seedItems)
  let measured = false
  const ours: MeasuredSide = async (load) => {
    if (measured && scenario.freshStoreEachRound) {
      await target.stop()
      target = await startServer(run, scenario.seedItems)
    }
    measured = true
    return runLoad(run, target, { poll: scenario.poll ?? null, ...load })
  }
  // No warm-up: the server has just been loaded. One connection gives a latency without queueing.
  const solo = (measureSeconds: number): Promise<SideFigures> =>
    runLoad(run, target, { connections: 1, warmupSeconds: 0, measureSeconds })
  const floor = await startFloor(run, target.origin)
  return {
    ours,
    ...(floor !== null && { floor: floor.measure }),
    ...(scenario.itemsVisited !== undefined && { solo }),
    stop: () => Promise.all([target.stop(), floor?.stop()]),
  }
}

interface RunningFloor {
  readonly measure: MeasuredSide
  stop(): Promise<unknown>
}

/** Starts the floor of a scenario beside our running server; null when the scenario has none. */
async function startFloor(run: ScenarioRun, origin: string): Promise<RunningFloor | null> {
  const { floor, requests, ids = NO_IDS } = run.scenario
  const stop = async (): Promise<void> => {}
  if (floor.kind === 'pbkdf2') return { measure: loopFloor(run, floor), stop }
  if (floor.kind === 'scan') {
    const { needle, items: texts } = floor
    return { measure: loopFloor(run, { kind: 'scan', texts, needle, sample: await itemTexts(origin) }), stop }
  }
  if (floor.kind !== 'copy') return null
  const replies: SampledReply[] = []
  for (const request of distinctRoutes(requests)) replies.push(await sampleReply(origin, request, ids))
  const copies = await startCopies(run, replies)
  const all = {
    ...copies[0]!,
    pids: copies.flatMap(({ pids }) => pids),
    gone: () => copies.some((copy) => copy.gone()),
  }
  return {
    measure: (load) => runLoad(run, all, load),
    stop: () => Promise.all(copies.map((copy) => copy.stop())),
  }
}

/** Name and description of the first hundred items: the texts a scan looks at. */
async function itemTexts(origin: string): Promise<string[]> {
  const list = { method: 'GET', route: '', path: '/api/v1/items?limit=100' } as const
  const { body } = await sampleReply(origin, list, NO_IDS)
  const items = JSON.parse(body) as { name: string; description: string }[]
  return items.map((item) => `${item.name}\n${item.description}`)
}

/** Starts as many bare servers as our server has workers, all on one port, each answering `replies`. */
async function startCopies(
  { settings, children }: ScenarioRun,
  replies: readonly SampledReply[],
): Promise<LoadTarget[]> {
  const job: FloorJob = { port: await freePort(), replies }
  const copies: LoadTarget[] = []
  for (let i = 0; i < settings.workers; i++) {
    const program = new URL('./floor-server.js', import.meta.url)
    const child = startProgram(children, settings.pinning.serverCores, program)
    await exchangeMessage<FloorReady>(child, job)
    copies.push(programTarget(child, job.port, children))
  }
  return copies
}

/** Bare threads doing `work`, one per worker: our server runs with one pool thread, and one loop, per worker. */
export function loopFloor({ settings, children }: ScenarioRun, work: LoopWork): MeasuredSide {
  const { workers, warmupSeconds, durationSeconds, pinning } = settings
  const usual: LoopJob = { work, threads: workers, warmupSeconds, measureSeconds: durationSeconds }
  const program = new URL('./floor-loop.js', import.meta.url)
  return async (load) => {
    const loop = startProgram(children, pinning.serverCores, program)
    return figuresOfLoop(await exchangeMessage<LoopFigures>(loop, { ...usual, ...load }))
  }
}

/**
 * One load run by a generator process of its own; `changes` replace what the scenario and the settings say.
 * Throws when the generator fails or the server leaves.
 */
export async function runLoad(
  { scenario, settings, children }: ScenarioRun,
  target: LoadTarget,
  changes: Partial<LoadJob> = {},
): Promise<SideFigures> {
  const ids = scenario.ids ?? NO_IDS
  const job: LoadJob = {
    tool: settings.generator,
    origin: target.origin,
    requests: scenario.requests,
    // The first id of the sequence went into the sampled reply.
    ids: { ...ids, next: ids.next + 1 },
    connections: settings.connections ?? scenario.connections,
    warmupSeconds: settings.warmupSeconds,
    measureSeconds: settings.durationSeconds,
    serverPids: target.pids,
    upstreamPids: [],
    poll: null,
    ...changes,
  }
  const program = new URL('./generator.js', import.meta.url)
  const generator = startProgram(children, settings.pinning.generatorCores, program)
  try {
    const message = await exchangeMessage<GeneratorMessage>(generator, job)
    if (target.gone()) throw new Error(`${scenario.name}: the server left while it was loaded`)
    if (!message.ok) throw new Error(`${scenario.name}: ${message.reason}`)
    return figuresOfLoad(message.result)
  } finally {
    await children.stop(generator)
  }
}
