/** Runs scenarios against a gateway: each in a lane of its own, the calls of a lane one after the other. */
import { setMaxListeners } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import { answerIn } from './answer.js'
import type { Casting, FaultyProvider } from './faulty-provider.js'
import { type GatewayAddress, GatewayCaller } from './gateway-caller.js'
import { type Complaint, judge } from './judge.js'
import { ledgerRecord } from './ledger-record.js'
import type { Observation } from './observation.js'
import { slugOf } from './roles.js'
import { MODES, type Mode, type Scenario, type Step } from './scenario.js'
import { listAt, membersIn, textAt } from './shape.js'
import type { UpstreamCall } from './upstream-call.js'
import { type Result, verdictOf } from './verdict.js'

interface DrillPorts {
  readonly gateway: GatewayAddress
  readonly provider: Pick<FaultyProvider, 'calls'>
  /** Fires when the drill is to end: what is under way ends at once. */
  readonly left: AbortSignal
  /** Called with each result as it comes. */
  readonly tell: (result: Result) => void
}

/** What the faulty provider does in these scenarios. */
export function castingOf(scenarios: readonly Scenario[]): Casting {
  return ({ role, model }, nth) => {
    const scenario = scenarios.find(({ models }) => models.some(({ id }) => id === model))
    const plays = scenario?.plays[role]
    return plays === undefined ? null : plays[nth % plays.length]!
  }
}

/** All results, by scenario and then by mode. */
export async function runDrill(
  scenarios: readonly Scenario[],
  ports: DrillPorts,
): Promise<readonly Result[]> {
  // Every lane listens, and none of them too long.
  setMaxListeners(0, ports.left)
  const lanes = scenarios.flatMap((scenario) => MODES.map((mode) => runLane(scenario, mode, ports)))
  return Promise.all(lanes)
}

/**
 * Why the gateway cannot be drilled: it does not answer, does not take the credential or does not know the models. Null
 * when it can.
 */
export async function obstacle(
  scenarios: readonly Scenario[],
  gateway: GatewayAddress,
  left: AbortSignal,
): Promise<string | null> {
  const caller = new GatewayCaller(gateway, left)
  try {
    const key = await caller.get('/key', REACHABLE_MS)
    if (key.broke !== null) return `the gateway at ${gateway.url} does not answer: ${key.broke}`
    if (key.status === 401)
      return `the gateway at ${gateway.url} does not take the credential of SLUICE_API_KEY`
    const { body } = await caller.get('/models', REACHABLE_MS)
    const known = new Set(listAt(membersIn(body) ?? {}, 'data').map((model) => textAt(model, 'id')))
    const missing = scenarios.flatMap(({ models }) => models).find(({ id }) => !known.has(id))
    if (missing === undefined) return null
    return `the gateway at ${gateway.url} does not know ${missing.id}; configure it with what sluice drill --print-config prints`
  } finally {
    caller.close()
  }
}

const REACHABLE_MS = 5_000

async function runLane(
  scenario: Scenario,
  mode: Mode,
  { gateway, provider, left, tell }: DrillPorts,
): Promise<Result> {
  const caller = new GatewayCaller(gateway, left)
  const steps = scenario.steps[mode]
  const complaints: Complaint[] = []
  let ms = 0
  for (const [at, step] of steps.entries()) {
    const observation = await observe(scenario, step, mode, caller, provider)
    ms += observation.heard.endMs
    const where = steps.length === 1 ? '' : `call ${at + 1}: `
    complaints.push(
      ...judge(scenario, step, observation).map(({ weight, sentence }) => ({
        weight,
        sentence: where + sentence,
      })),
    )
  }
  caller.close()
  const result = {
    scenario,
    mode,
    verdict: verdictOf(complaints),
    ms: Math.round(ms),
    complaints: complaints.map(({ sentence }) => sentence),
  }
  tell(result)
  return result
}

async function observe(
  scenario: Scenario,
  step: Step,
  mode: Mode,
  caller: GatewayCaller,
  provider: Pick<FaultyProvider, 'calls'>,
): Promise<Observation> {
  const before = callsOf(provider, scenario, mode).length
  const heard = await caller.chat(requestOf(scenario, mode))
  const record = await ledgerRecord(caller, heard)
  const calls = callsOf(provider, scenario, mode).slice(before)
  return {
    mode,
    heard,
    answer: answerIn(heard),
    seen: calls.map(({ asked, status }) => [asked.role, status] as const),
    held: step.letsGo ? await stillHeld(calls) : 0,
    record,
  }
}

function callsOf(
  { calls }: Pick<FaultyProvider, 'calls'>,
  { models }: Scenario,
  mode: Mode,
): readonly UpstreamCall[] {
  return calls.filter(
    ({ asked }) => asked.streamed === (mode === 'streamed') && models.some(({ id }) => id === asked.model),
  )
}

/** Milliseconds after the end of an answer in which the gateway has to have let go. */
const LET_GO_MS = 1_000

async function stillHeld(calls: readonly UpstreamCall[]): Promise<number> {
  const open = (): number => calls.filter(({ closed }) => !closed).length
  for (const end = performance.now() + LET_GO_MS; open() > 0 && performance.now() < end; ) await sleep(10)
  return open()
}

/** The endpoints are asked in the order in which the scenario names them, whatever they cost. */
function requestOf({ models }: Scenario, mode: Mode): object {
  const [first, ...others] = models
  return {
    model: first!.id,
    ...(others.length === 0 ? {} : { models: others.map(({ id }) => id) }),
    messages: [{ role: 'user', content: 'Tell me about the lamp and the ship.' }],
    provider: { order: models.flatMap(({ endpoints }) => endpoints).map(slugOf) },
    ...(mode === 'streamed' ? { stream: true } : {}),
  }
}
