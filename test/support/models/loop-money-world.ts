/** One request with server tools over scripted turns, scripted tools and real limits, in a time that stands still. */
import { Fault } from '../../../src/base/fault.js'
import type { Principal } from '../../../src/base/principal.js'
import type { ChatEvent, ChatRequest, Completion } from '../../../src/gateway/formats/canonical.js'
import type { StopCondition, Tooling } from '../../../src/gateway/formats/tooling.js'
import { Gateway } from '../../../src/gateway/gateway.js'
import { chatTurns } from '../../../src/gateway/loop/chat/chat-conversation.js'
import { Loops } from '../../../src/gateway/loop/loops.js'
import { ReplaySeal } from '../../../src/gateway/loop/replay-seal.js'
import type { CountTokens } from '../../../src/gateway/metering/format.js'
import type { Plugin } from '../../../src/gateway/plugins/port/plugin.js'
import type {
  CallHandle,
  ProviderCall,
  StreamReceiver,
} from '../../../src/gateway/providers/port/provider.js'
import type { Generation } from '../../../src/gateway/run/generation.js'
import type { PreparedTool, ServerTool, ToolOutcome, ToolRun } from '../../../src/gateway/tools/port/tool.js'
import { NO_FILE_PORTS, NO_FILES } from '../data/no-files.js'
import { routingState } from '../providers/routing.js'
import { CALLER, catalogOf, failure, ScriptedProvider, text, usage } from '../providers/scripted-provider.js'
import { FakeClock } from '../timing/fake-clock.js'
import { requested } from '../tools/tool-call.js'
import { accountWorld } from './account-world.js'

/** What becomes of a call of the provider. */
export const FATES = ['served', 'uncounted', 'refused', 'lost', 'broken', 'silent'] as const
/** What a tool does when it is called. */
export const DEEDS = [
  'answer',
  'fail',
  'refuse',
  'throw',
  'hang',
  'deaf',
  'nest',
  'desert',
  'overcharge',
] as const
/** What goes wrong in a plugin, and when. */
export const MISHAPS = [
  'refuse before',
  'refuse after',
  'throw before',
  'throw after',
  'fail before',
] as const

export interface ToolScript {
  readonly tool: 'free' | 'paid' | 'unknown'
  readonly deed: (typeof DEEDS)[number]
  readonly charged: number
}

export interface TurnScript {
  readonly fate: (typeof FATES)[number]
  readonly calls: readonly ToolScript[]
  readonly prompt: number
  readonly completion: number
}

export interface LoopScript {
  /** In the order of the provider's calls, nested ones among them; then it says a word and ends. */
  readonly turns: readonly TurnScript[]
  readonly credits: number
  readonly keyLimit: number | null
  readonly maxCost: number | null
  readonly steps: number
  readonly streamed: boolean
  /** Round in which the caller leaves, and in which the key is disabled; null for never. */
  readonly leavesAt: number | null
  readonly disabledAt: number | null
  readonly pluginFee: number | null
  readonly mishap: (typeof MISHAPS)[number] | null
}

const FEES: Readonly<Record<string, number>> = { free: 0, paid: 900 }
const PLAIN: TurnScript = { fate: 'served', calls: [], prompt: 2, completion: 3 }
const DEFECT = 'a defect of a tool or a plugin'
const PERMITTED_TOKENS = 50
const NESTED_BUDGET = 120_000

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))

/** So few that no answer is longer than it may be. */
const countTokens: CountTokens = async (texts) => ({
  counts: texts.map((said) => (said === '' ? 0 : 1)),
  areGuessed: false,
})

/** Says of each call what the script says, a turn of the event loop later. */
class ScriptedTurns extends ScriptedProvider {
  readonly #turns: readonly TurnScript[]
  #calls = 0
  open = 0

  constructor(turns: readonly TurnScript[]) {
    super()
    this.#turns = turns
  }

  override stream(call: ProviderCall, receiver: StreamReceiver): CallHandle {
    const handle = super.stream(call, receiver)
    const { told } = this.last
    const script = this.#turns[this.calls.length - 1] ?? PLAIN
    let isOpen = true
    this.open++
    const close = (): void => {
      if (isOpen) this.open--
      isOpen = false
    }
    setImmediate(() => {
      if (told.includes('cancel')) return
      if (script.fate !== 'silent') close()
      this.#play(script, call, receiver)
    })
    const cancel = (): void => {
      handle.cancel()
      close()
    }
    return { ...handle, cancel }
  }

  #play({ fate, calls, prompt, completion }: TurnScript, call: ProviderCall, receiver: StreamReceiver): void {
    const most = (call.request as ChatRequest).max_completion_tokens ?? PERMITTED_TOKENS
    const figures = usage(prompt, Math.min(completion, most))
    if (fate === 'silent') return
    if (fate === 'broken') receiver.onEvent(text('some '))
    if (fate === 'refused' || fate === 'lost' || fate === 'broken') {
      receiver.onFailure(failure('provider-failed', fate === 'refused' ? 'refused' : 'maybe-processed', 500))
      return
    }
    receiver.onEvent(text('some '))
    calls.forEach(({ tool, ...script }, index) => {
      const given = JSON.stringify({ ...script, number: ++this.#calls })
      const called = { index, id: `call_${this.#calls}`, type: 'function' as const }
      const delta = { tool_calls: [{ ...called, function: { name: tool, arguments: given } }] }
      receiver.onEvent({ type: 'delta', choice: 0, delta })
    })
    const reason = calls.length > 0 ? 'tool_calls' : 'stop'
    receiver.onEvent({ type: 'finish', choice: 0, reason, native: reason })
    if (fate === 'served') receiver.onEvent({ type: 'usage', usage: figures })
    receiver.onFlush()
    receiver.onEnd()
  }
}

/** Tools that are under way. */
interface Workshop {
  readonly clock: FakeClock
  running: number
}

function scriptedTool(name: string, workshop: Workshop): ServerTool {
  const fee = FEES[name]!
  const prepared: PreparedTool = {
    functions: [{ name, description: name, parameters: { type: 'object' } }],
    backend: 'script',
    fee: () => fee,
    run: async ({ arguments: given }, run) => {
      workshop.running++
      try {
        return await perform(given as unknown as ToolScript, run, fee, workshop)
      } finally {
        workshop.running--
      }
    },
  }
  return { name, prepare: () => prepared }
}

async function perform(
  { deed, charged }: ToolScript,
  run: ToolRun,
  fee: number,
  workshop: Workshop,
): Promise<ToolOutcome> {
  const outcome = { content: { deed }, isError: false, executed: true, charged: Math.min(charged, fee) }
  switch (deed) {
    case 'fail':
      return { ...outcome, isError: true }
    case 'refuse':
      return { ...outcome, isError: true, executed: false }
    case 'throw':
      throw new Error(DEFECT)
    case 'overcharge':
      return { ...outcome, charged: fee * 3 }
    case 'hang':
      await new Promise((resolve) => run.signal.addEventListener('abort', resolve, { once: true }))
      return { ...outcome, isError: true }
    case 'deaf':
      // Longer than anybody waits for a tool that was called off.
      await new Promise<void>((resolve) => workshop.clock.runAfter(2_500, resolve))
      return outcome
    case 'desert':
      // Neither waits for the model that it has asked nor ends it.
      void askBeneath(run, new AbortController().signal)
      await new Promise<void>((resolve) => workshop.clock.runAfter(2_500, resolve))
      return outcome
    case 'nest': {
      const answer = await askBeneath(run, run.signal)
      return { ...outcome, content: answer.ok ? answer.text : answer.reason, isError: !answer.ok }
    }
    default:
      return outcome
  }
}

function askBeneath(run: ToolRun, signal: AbortSignal): ReturnType<ToolRun['nested']> {
  const request = { model: 'acme/one', messages: [{ role: 'user' as const, content: 'help' }] }
  return run.nested({ purpose: 'advisor', request, budget: Math.min(NESTED_BUDGET, run.budget), signal })
}

function feePlugin(fee: number, mishap: LoopScript['mishap']): Plugin {
  const fault = new Fault('forbidden')
  const meet = (step: 'before' | 'after'): Fault | null => {
    if (mishap === `throw ${step}`) throw fault
    if (mishap === `fail ${step}`) throw new Error(DEFECT)
    return mishap === `refuse ${step}` ? fault : null
  }
  return {
    id: 'web',
    prepare: () => ({
      before: async ({ request }, run) => {
        await run.charge({ name: 'web', charged: fee })
        return meet('before') ?? { request }
      },
      after: async () => meet('after') ?? {},
    }),
  }
}

export interface LoopRunResult {
  readonly root: Generation<ChatRequest>
  /** What the caller was told; null where it has left. */
  readonly told: { readonly fault: Fault | null } | null
  readonly ends: number
  readonly gauges: Readonly<Record<'open' | 'timers' | 'tools' | 'calls', number>>
  readonly world: ReturnType<typeof accountWorld>
  readonly defects: readonly unknown[]
}

/** Rounds without anything new after which somebody has to act. */
const IDLE_ROUNDS = 6
const SEAL = new ReplaySeal(Buffer.alloc(32, 7))

export async function playLoop(script: LoopScript): Promise<LoopRunResult> {
  const clock = new FakeClock()
  const limits = { concurrent: 1, requestsPerMinute: null, tokensPerMinute: null }
  const { keyLimit: limit } = script
  const caller: Principal =
    limit === null ? CALLER : { ...CALLER, limits: { ...limits, spending: { limit, reset: null } } }
  const world = accountWorld(clock, script.credits, caller)
  const provider = new ScriptedTurns(script.turns)
  const workshop: Workshop = { clock, running: 0 }
  const defects: unknown[] = []
  const loops = loopsOver({ clock, world, provider, workshop, script, defects })
  const request: ChatRequest = {
    model: 'acme/one',
    messages: [{ role: 'user', content: 'hello' }],
    max_completion_tokens: PERMITTED_TOKENS,
    stream: script.streamed,
    tooling: toolingOf(script),
  }
  const inference = { request, caller, simulate: '', traceparent: '' }
  const prepared = await loops.prepare(chatTurns, inference, { arrivedAt: performance.now() })
  if (!('root' in prepared)) throw new Error('there is nothing to run')
  const ear = new Ear()
  const handle = prepared.run(script.streamed ? 'stream' : 'whole', ear)
  const gauges = () => ({
    open: world.accounting.open,
    timers: clock.pending,
    tools: workshop.running,
    calls: provider.open,
  })
  let left = false
  const leave = (): void => {
    left = true
    handle.cancel()
  }
  let idle = 0
  let seen = ''
  for (let round = 0; idle < IDLE_ROUNDS * 4; round++) {
    if (round === script.leavesAt) leave()
    if (round === script.disabledAt) world.disableKey()
    await turn()
    const state = `${world.lines.length} ${provider.calls.length} ${ear.ends} ${JSON.stringify(gauges())}`
    idle = state === seen ? idle + 1 : 0
    seen = state
    const isOver = (left || ear.ends > 0) && Object.values(gauges()).every((count) => count === 0)
    if (isOver && idle >= 2) break
    if (idle === IDLE_ROUNDS || idle === IDLE_ROUNDS * 3) clock.advance(2_000)
    if (idle === IDLE_ROUNDS * 2 && !left && ear.ends === 0) leave()
  }
  const told = ear.ends === 0 ? null : { fault: ear.fault }
  return { root: prepared.root, told, ends: ear.ends, gauges: gauges(), world, defects }
}

function toolingOf({ maxCost, steps, pluginFee }: LoopScript): Tooling {
  const stopWhen: StopCondition[] = [{ type: 'step_count_is', step_count: steps }]
  if (maxCost !== null) stopWhen.push({ type: 'max_cost', max_cost_in_dollars: maxCost / 1e9 })
  const plugins = pluginFee === null ? [] : [{ id: 'web', options: {}, place: ['plugins', 0] }]
  return { tools: [requested('free'), requested('paid')], plugins, disabled: [], stopWhen, maxToolCalls: 30 }
}

interface LoopParts {
  readonly clock: FakeClock
  readonly world: ReturnType<typeof accountWorld>
  readonly provider: ScriptedTurns
  readonly workshop: Workshop
  readonly script: LoopScript
  readonly defects: unknown[]
}

function loopsOver({ clock, world, provider, workshop, script, defects }: LoopParts): Loops {
  const { accounting } = world
  const catalog = catalogOf({ 'acme/one': [{ slug: 'a' }, { slug: 'b' }] }, () => provider)
  const onDefect = (error: unknown): void => {
    if (!(error instanceof Error && error.message === DEFECT)) defects.push(error)
  }
  const shared = { clock, deadlineMs: 60_000, countTokens, onDefect }
  const gateway = new Gateway({
    ...shared,
    ...routingState(clock),
    catalog: () => catalog,
    files: NO_FILE_PORTS,
    observe: () => {},
    admit: (generation) => accounting.admit(generation),
    admitCount: async () => () => {},
  })
  const tools = Object.keys(FEES).map((name) => scriptedTool(name, workshop))
  return new Loops(gateway, {
    ...shared,
    tools: new Map(tools.map((tool) => [tool.name, tool])),
    plugins: new Map([['web', feePlugin(script.pluginFee ?? 0, script.mishap)]]),
    seal: SEAL,
    filesOf: () => NO_FILES,
    admitTooling: (_, asked) => asked,
    defaultTooling: () => null,
    isCompressedUnasked: () => false,
    wallClockMs: () => 1_000,
    mostCalls: () => 12,
    openAccount: (root) => accounting.openAccount(root),
  })
}

class Ear {
  ends = 0
  fault: Fault | null = null
  onEvent(_: ChatEvent): void {}
  onFlush(): void {}

  onEnd(_: Generation<ChatRequest>, __: Completion | null): void {
    this.ends++
  }

  onFailure(fault: Fault): void {
    this.ends++
    this.fault = fault
  }
}
