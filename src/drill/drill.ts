/** Runs scenarios against a gateway: all at once, the calls of each one after the other. */
import { setMaxListeners } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import type { BehaviourSelector, FaultyProvider } from './faulty-provider.js'
import { type GatewayAddress, GatewayClient, type GatewayResponse } from './gateway-client.js'
import { judgeCall, type ScenarioResult } from './judge.js'
import {
  type JsonMembers,
  listMember,
  objectMember,
  parseAnswer,
  parseMembers,
  textMember,
} from './parse-answer.js'
import type { ProviderCall } from './provider-call.js'
import { providerSlugOf } from './roles.js'
import {
  type CallObservation,
  DELIVERY_MODES,
  type DeliveryMode,
  type DrillScenario,
  type ScenarioStep,
} from './scenario.js'
import { type Complaint, weighComplaints } from './verdict.js'

interface DrillPorts {
  readonly gateway: GatewayAddress
  readonly provider: FaultyProvider
  /** Fires when the drill is to end: what is under way ends at once. */
  readonly signal: AbortSignal
  /** Called with each result as it comes. */
  readonly onResult: (result: ScenarioResult) => void
}

/** What the faulty provider does in these scenarios. */
export function createBehaviourSelector(scenarios: readonly DrillScenario[]): BehaviourSelector {
  return ({ role, model }, nth) => {
    const scenario = scenarios.find(({ models }) => models.some(({ id }) => id === model))
    const plays = scenario?.behaviours[role]
    return plays === undefined ? null : plays[nth % plays.length]!
  }
}

/** All results, by scenario and then by mode. */
export async function runDrill(
  scenarios: readonly DrillScenario[],
  ports: DrillPorts,
): Promise<readonly ScenarioResult[]> {
  // Every call listens to the signal, so there are more listeners than Node finds usual.
  setMaxListeners(0, ports.signal)
  const plays = scenarios.flatMap((scenario) =>
    DELIVERY_MODES.map((mode) => runScenario(scenario, mode, ports)),
  )
  return Promise.all(plays)
}

/**
 * Why the gateway cannot be drilled: it does not answer, does not take the credential or does not know the models. Null
 * when it can.
 */
export async function findSetupProblem(
  scenarios: readonly DrillScenario[],
  gateway: GatewayAddress,
  signal: AbortSignal,
): Promise<string | null> {
  const caller = new GatewayClient(gateway, signal)
  try {
    const key = await caller.get('/key', REACHABLE_MS)
    if (key.incompleteReason !== null)
      return `the gateway at ${gateway.url} does not answer: ${key.incompleteReason}`
    if (key.status === 401)
      return `the gateway at ${gateway.url} does not take the credential of SLUICE_API_KEY`
    const { body } = await caller.get('/models', REACHABLE_MS)
    const known = new Set(
      listMember(parseMembers(body) ?? {}, 'data').map((model) => textMember(model, 'id')),
    )
    const missing = scenarios.flatMap(({ models }) => models).find(({ id }) => !known.has(id))
    if (missing === undefined) return null
    return `the gateway at ${gateway.url} does not know ${missing.id}; configure it with what npx sluice drill --print-config prints`
  } finally {
    caller.close()
  }
}

const REACHABLE_MS = 5_000

async function runScenario(
  scenario: DrillScenario,
  mode: DeliveryMode,
  { gateway, provider, signal, onResult }: DrillPorts,
): Promise<ScenarioResult> {
  const caller = new GatewayClient(gateway, signal)
  const steps = scenario.steps[mode]
  const complaints: Complaint[] = []
  let ms = 0
  for (const [at, step] of steps.entries()) {
    const observation = await observeCall(scenario, step, mode, caller, provider)
    ms += observation.response.endMs
    const where = steps.length === 1 ? '' : `call ${at + 1}: `
    complaints.push(
      ...judgeCall(scenario, step, observation).map(({ severity, sentence }) => ({
        severity,
        sentence: where + sentence,
      })),
    )
  }
  caller.close()
  const result = {
    scenario,
    mode,
    verdict: weighComplaints(complaints),
    ms: Math.round(ms),
    complaints: complaints.map(({ sentence }) => sentence),
  }
  onResult(result)
  return result
}

async function observeCall(
  scenario: DrillScenario,
  step: ScenarioStep,
  mode: DeliveryMode,
  caller: GatewayClient,
  provider: FaultyProvider,
): Promise<CallObservation> {
  const before = providerCallsOf(provider, scenario, mode).length
  const response = await caller.sendChat(chatRequestFor(scenario, mode))
  const ledgerRow = await fetchLedgerRow(caller, response)
  const calls = providerCallsOf(provider, scenario, mode).slice(before)
  return {
    mode,
    response,
    answer: parseAnswer(response),
    attempts: withoutRepeats(calls).map(({ request, status }) => [request.role, status] as const),
    // The connection of the call that has served stays open.
    heldConnections: step.closesConnection
      ? await countHeldConnections(step.ending.kind === 'served' ? calls.slice(0, -1) : calls)
      : 0,
    ledgerRow,
  }
}

function providerCallsOf(
  { calls }: FaultyProvider,
  { models }: DrillScenario,
  mode: DeliveryMode,
): readonly ProviderCall[] {
  return calls.filter(
    ({ request }) =>
      request.streamed === (mode === 'streamed') && models.some(({ id }) => id === request.model),
  )
}

/**
 * A call that got no byte of an answer on a connection used before may be sent once more to the same endpoint: a
 * server that closes idle connections looks the same (contract/decisions 42). Both are one attempt.
 */
function withoutRepeats(calls: readonly ProviderCall[]): readonly ProviderCall[] {
  return calls.filter(({ status, closed, onReused, request }, at) => {
    const next = calls[at + 1]
    const isRepeated = next !== undefined && next.request.role === request.role && !next.onReused
    return !(isRepeated && onReused && closed && status === 0)
  })
}

/** Milliseconds after the end of an answer in which the gateway has to have let go. */
const LET_GO_MS = 1_000

async function countHeldConnections(calls: readonly ProviderCall[]): Promise<number> {
  const open = (): number => calls.filter(({ closed }) => !closed).length
  for (const end = performance.now() + LET_GO_MS; open() > 0 && performance.now() < end; ) await sleep(10)
  return open()
}

/** The endpoints are asked in the order in which the scenario names them, not by price. */
function chatRequestFor({ models }: DrillScenario, mode: DeliveryMode): object {
  const [first, ...others] = models
  return {
    model: first!.id,
    ...(others.length === 0 ? {} : { models: others.map(({ id }) => id) }),
    messages: [{ role: 'user', content: 'Tell me about the lamp and the ship.' }],
    provider: { order: models.flatMap(({ endpoints }) => endpoints).map(providerSlugOf) },
    ...(mode === 'streamed' ? { stream: true } : {}),
  }
}

/** A row may be on its way: a failed call is not kept waiting for it, and on a busy machine that takes seconds. */
const TRIES = 60
const PAUSE_MS = 150

/** The row of the generation that a call began; null when there is none. */
async function fetchLedgerRow(
  caller: GatewayClient,
  { headers }: GatewayResponse,
): Promise<JsonMembers | null> {
  const id = headers['x-generation-id']
  if (typeof id !== 'string') return null
  for (let tried = 0; tried < TRIES; tried++) {
    const { status, body } = await caller.get(`/generation?id=${encodeURIComponent(id)}`)
    if (status === 200) return objectMember(parseMembers(body) ?? {}, 'data')
    // A credential that is refused now will be refused later, too.
    if (status !== 404) return null
    await sleep(PAUSE_MS)
  }
  return null
}
