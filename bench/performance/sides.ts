/** The two sides of a scenario, our server and its floor: each is something that can be measured once per round. */

import { mkdtempSync } from 'node:fs'
import { join } from 'node:path'
import { distinctRoutes, type IdPlan } from '../harness/http/requests.js'
import type { Pinning } from '../harness/machine/pinning.js'
import type { ChildProcesses } from '../harness/server/child-processes.js'
import { exchangeMessage, startProgram } from '../harness/server/program.js'
import type { LoadTarget } from '../harness/server/sluice-server.js'
import { figuresOfLoad, figuresOfLoop, type SideFigures } from './figures.js'
import type { LoopWork } from './floor-loop.js'
import { runLoopFloor, startCopyFloor } from './floors.js'
import type { GeneratorMessage, GeneratorName, LoadJob } from './job.js'
import { type SampledReply, sampleReply } from './sample-reply.js'
import type { FloorPlan, Scenario } from './scenarios.js'

export interface CampaignSettings {
  readonly tool: GeneratorName
  readonly workers: number
  readonly rounds: number
  readonly warmupSeconds: number
  readonly measureSeconds: number
  /** Null: each scenario's own. */
  readonly connections: number | null
  readonly pinning: Pinning
  /** Path of the built server. */
  readonly serverProgram: string
  readonly tempFolder: string
  /** The program of the other gateway to run beside ours; null for none. */
  readonly peerProgram: string | null
}

export interface MeasuredSide {
  /** One warm-up and one measurement. Throws when the side does not survive them. */
  measure(): Promise<SideFigures>
  stop(): Promise<unknown>
}

const NO_IDS: IdPlan = { next: 1, spread: 1 }

/** Our server; with a fresh store in every round when the scenario writes. */
export class SluiceSide implements MeasuredSide {
  readonly #scenario: Scenario
  readonly #settings: CampaignSettings
  readonly #children: ChildProcesses
  #target: LoadTarget | null = null
  #measured = false

  constructor(scenario: Scenario, settings: CampaignSettings, children: ChildProcesses) {
    this.#scenario = scenario
    this.#settings = settings
    this.#children = children
  }

  /** Starts the server with the scenario's items. Throws when it does not come up. */
  async start(): Promise<void> {
    this.#target = await this.#children.startServer({
      program: this.#settings.serverProgram,
      workers: this.#settings.workers,
      seedItems: this.#scenario.seedItems,
      cores: this.#settings.pinning.serverCores,
      dataFolder: mkdtempSync(join(this.#settings.tempFolder, 'data-')),
    })
  }

  async measure(): Promise<SideFigures> {
    if (this.#measured && this.#scenario.freshStoreEachRound) {
      await this.stop()
      await this.start()
    }
    this.#measured = true
    return await this.#load({ poll: this.#scenario.poll ?? null })
  }

  /** One connection, for a latency without queueing; no warm-up, the server has just been loaded. */
  async measureSolo(seconds: number): Promise<SideFigures> {
    return await this.#load({ connections: 1, warmupSeconds: 0, measureSeconds: seconds })
  }

  /** One reply of every method and route in the cycle. */
  async sampleReplies(): Promise<SampledReply[]> {
    const replies: SampledReply[] = []
    for (const request of distinctRoutes(this.#scenario.requests)) {
      replies.push(await sampleReply(this.#running().origin, request, this.#scenario.ids ?? NO_IDS))
    }
    return replies
  }

  /** Name and description of the first hundred items: the texts a scan looks at. */
  async itemTexts(): Promise<string[]> {
    const list = { method: 'GET', route: '', path: '/api/v1/items?limit=100' } as const
    const reply = await sampleReply(this.#running().origin, list, NO_IDS)
    const items = JSON.parse(reply.body) as { name: string; description: string }[]
    return items.map((item) => `${item.name}\n${item.description}`)
  }

  async stop(): Promise<void> {
    await this.#target?.stop()
    this.#target = null
  }

  async #load(changes: Partial<LoadJob>): Promise<SideFigures> {
    return await runLoad(this.#running(), this.#scenario, this.#settings, this.#children, changes)
  }

  #running(): LoadTarget {
    if (this.#target === null) throw new Error(`${this.#scenario.name}: the server is not running`)
    return this.#target
  }
}

/** Starts the floor of a scenario beside our running server; null when the scenario has none. */
export async function startFloor(
  scenario: Scenario,
  ours: SluiceSide,
  settings: CampaignSettings,
  children: ChildProcesses,
): Promise<MeasuredSide | null> {
  const { floor } = scenario
  if (floor.kind === 'pbkdf2' || floor.kind === 'scan')
    return loopFloor(await loopWork(floor, ours), settings, children)
  if (floor.kind !== 'copy') return null
  const replies = await ours.sampleReplies()
  const target = await startCopyFloor(children, settings.pinning.serverCores, settings.workers, replies)
  return { measure: () => runLoad(target, scenario, settings, children, {}), stop: () => target.stop() }
}

async function loopWork(floor: FloorPlan & { kind: 'pbkdf2' | 'scan' }, ours: SluiceSide): Promise<LoopWork> {
  if (floor.kind === 'pbkdf2') return floor
  return { kind: 'scan', texts: floor.items, needle: floor.needle, sample: await ours.itemTexts() }
}

/** Bare threads doing `work`, one per worker. */
export function loopFloor(
  work: LoopWork,
  settings: CampaignSettings,
  children: ChildProcesses,
): MeasuredSide {
  const { workers, warmupSeconds, measureSeconds, pinning } = settings
  // One thread per worker: our server runs with one pool thread, and one loop, per worker.
  const job = { work, threads: workers, warmupSeconds, measureSeconds }
  return {
    measure: async () => figuresOfLoop(await runLoopFloor(children, pinning.serverCores, job)),
    stop: async () => {},
  }
}

/**
 * One load run by a generator process of its own; `changes` replace what the scenario and the settings say.
 * Throws when the generator fails or the server leaves.
 */
export async function runLoad(
  target: LoadTarget,
  scenario: Scenario,
  settings: CampaignSettings,
  children: ChildProcesses,
  changes: Partial<LoadJob>,
): Promise<SideFigures> {
  const generator = startProgram(
    children,
    settings.pinning.generatorCores,
    new URL('./generator.js', import.meta.url),
  )
  try {
    const job = { ...loadJob(target, scenario, settings), ...changes }
    const message = await exchangeMessage<GeneratorMessage>(generator, job)
    if (target.gone()) throw new Error(`${scenario.name}: the server left while it was loaded`)
    if (!message.ok) throw new Error(`${scenario.name}: ${message.reason}`)
    return figuresOfLoad(message.result)
  } finally {
    await children.stop(generator)
  }
}

function loadJob(target: LoadTarget, scenario: Scenario, settings: CampaignSettings): LoadJob {
  const ids = scenario.ids ?? NO_IDS
  return {
    tool: settings.tool,
    origin: target.origin,
    requests: scenario.requests,
    // The first id of the sequence went into the sampled reply.
    ids: { ...ids, next: ids.next + 1 },
    connections: settings.connections ?? scenario.connections,
    warmupSeconds: settings.warmupSeconds,
    measureSeconds: settings.measureSeconds,
    serverPids: target.pids,
    upstreamPids: [],
    poll: null,
  }
}
