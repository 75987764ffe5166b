import { test } from 'tap'
import { Fault } from '../../../src/base/fault.js'
import type { Principal } from '../../../src/base/principal.js'
import type { ChatRequest } from '../../../src/gateway/formats/canonical.js'
import type { LoopAccount, ToolPermit, ToolSpending } from '../../../src/gateway/loop/ports.js'
import { planFor } from '../../../src/gateway/routing/plan.js'
import { Generation } from '../../../src/gateway/run/generation.js'
import { REQUEST } from '../../support/clients/gateway-calls.js'
import { accountWorld } from '../../support/models/account-world.js'
import { routingState } from '../../support/providers/routing.js'
import { CALLER, catalogOf, ScriptedProvider, usage } from '../../support/providers/scripted-provider.js'
import { FakeClock } from '../../support/timing/fake-clock.js'

const CREDITS = 1_000_000_000
const ROOT_ID = 'gen-0000000000aaaaaaaaaaaaaaaa'
const SPENT: ToolSpending = { charged: 700, executed: true, isError: false, durationMs: 12.4 }

function world(caller: Principal = CALLER, credits = CREDITS) {
  const clock = new FakeClock()
  const catalog = catalogOf({ 'acme/one': [{ slug: 'a' }] }, () => new ScriptedProvider())
  const plan = planFor(catalog, REQUEST, caller, () => true, routingState())
  const generation = (id: string, parent: Generation | null = null): Generation<ChatRequest> =>
    new Generation(id, REQUEST, caller, plan, clock.unixSeconds() * 1000, 0, {
      parent: parent && { root: parent, purpose: 'turn' },
    })
  const root = generation(ROOT_ID)
  root.loop = { requested: 0, executed: 0, pipeline: [], strategy: null }
  return { clock, root, generation, ...accountWorld(clock, credits, caller) }
}

type World = ReturnType<typeof world>

/** A turn that is admitted and comes to so many tokens, at a nano-dollar thousandfold. */
async function runTurn({ accounting, generation, root }: World, number: number): Promise<void> {
  const turn = generation(`${root.id}.${number}`, root)
  const admission = await accounting.admit(turn)
  turn.consumption = {
    usage: usage(3, 4),
    cost: { total: 11_000, prompt: 3_000, completion: 8_000, tools: 0 },
    estimated: false,
    guessed: false,
  }
  await admission.settle(turn, { kind: 'completed' })
}

function reserve(account: LoopAccount, number: number, fee = 1_000, name = 'web_search') {
  const row = { id: `${ROOT_ID}.${number}`, kind: 'tool', name, backend: 'searxng', fee } as const
  return account.reserve(row)
}

async function permitted(account: LoopAccount, number: number, fee?: number): Promise<ToolPermit> {
  const permit = await reserve(account, number, fee)
  if (permit instanceof Fault) throw permit
  return permit
}

test('turns and tools are rows beneath their request, and their sum is what limits have lost', async (t) => {
  const made = world()
  const account = await made.accounting.openAccount(made.root)
  await runTurn(made, 1)
  const permit = await permitted(account, 2)
  made.root.loop!.requested = 2
  made.root.loop!.executed = 1
  permit.settle({ ...SPENT, units: { web_searches: 1 } })
  permit.settle({ ...SPENT, charged: 1_000 })
  await runTurn(made, 3)
  t.equal(account.charged, 22_700)
  const { usage: used, cost } = account.consumption()
  t.match(used, { prompt: 6, completion: 8 })
  t.strictSame(used.details, { webSearches: 1, toolCallsRequested: 2, toolCallsExecuted: 1 })
  t.match(cost, { total: 22_700, prompt: 6_000, completion: 16_000, fees: 700 })
  await account.close({ kind: 'completed' })
  t.equal(made.accounting.open, 0)
  t.equal(await made.creditsLeft(), CREDITS - 22_700)
  t.strictSame(made.books(), { charged: 22_700, calls: 1, unclosed: 0 })
  const row = made.row(ROOT_ID)!
  t.match(row, { cost: 0, promptTokens: 0, outcome: 'settled', detail: { api: 'completions' } })
  t.strictSame(row.units, { tool_calls_requested: 2, tool_calls_executed: 1 })
  t.strictSame(
    row.parts.map(({ id, cost: charged, detail: { api, model, provider } }) => [
      id,
      api,
      model,
      provider,
      charged,
    ]),
    [
      [`${ROOT_ID}.1`, 'turn', 'acme/one', 'A', 11_000],
      [`${ROOT_ID}.2`, 'tool', 'web_search', 'searxng', 700],
      [`${ROOT_ID}.3`, 'turn', 'acme/one', 'A', 11_000],
    ],
  )
})

test('what was not executed pays nothing, and nothing pays more than was set aside', async (t) => {
  const made = world()
  const account = await made.accounting.openAccount(made.root)
  const cases: readonly [Partial<ToolSpending>, number][] = [
    [{ executed: false, isError: true }, 0],
    [{ charged: 5_000 }, 1_000],
    [{ charged: -3 }, 0],
    [{ charged: Number.NaN }, 0],
    [{ charged: 0.2 }, 1],
  ]
  let sum = 0
  for (const [at, [spent, charged]] of cases.entries()) {
    const permit = await permitted(account, at + 1)
    permit.settle({ ...SPENT, ...spent })
    sum += charged
    t.equal(account.charged, sum, JSON.stringify(spent))
  }
  await account.close({ kind: 'completed' })
  t.equal(await made.creditsLeft(), CREDITS - sum)
})

test('a fee beyond the credit is refused, told, and leaves no row', async (t) => {
  const made = world(CALLER, 500)
  const account = await made.accounting.openAccount(made.root)
  const refused = await reserve(account, 1, 501)
  t.match(refused, { kind: 'payment-required' })
  t.equal(account.close({ kind: 'completed' }), null)
  t.strictSame(made.lines, [], 'nothing was ever admitted')
  t.equal(await made.creditsLeft(), 500)
})

test('a key that is disabled meanwhile ends the loop before the next tool, and what ran is settled', async (t) => {
  const made = world()
  const account = await made.accounting.openAccount(made.root)
  const running = await permitted(account, 1)
  made.disableKey()
  t.match(account.recheck(), { kind: 'unauthenticated' })
  t.match(await reserve(account, 2), { kind: 'unauthenticated' })
  running.settle(SPENT)
  await account.close({ kind: 'failed', fault: new Fault('unauthenticated') })
  t.strictSame(made.books(), { charged: 700, calls: 1, unclosed: 0 })
  t.match(made.row(ROOT_ID), { outcome: 'failed', detail: { fault: 'unauthenticated' } })
})

async function refusalOf({ accounting }: World, root: Generation): Promise<unknown> {
  try {
    return await accounting.openAccount(root)
  } catch (error) {
    return error
  }
}

const LIMITED: Principal = {
  ...CALLER,
  limits: { concurrent: 1, requestsPerMinute: 2, tokensPerMinute: null, spending: null },
}

test('a loop is one call at a time and one request, however many turns it has', async (t) => {
  const made = world(LIMITED)
  const account = await made.accounting.openAccount(made.root)
  for (let turn = 1; turn <= 4; turn++) await runTurn(made, turn)
  t.match(await refusalOf(made, made.generation('gen-other')), { kind: 'rate-limited' })
  await account.close({ kind: 'completed' })
  const second = await made.accounting.openAccount(made.root)
  await runTurn(made, 5)
  await second.close({ kind: 'completed' })
  t.match(await refusalOf(made, made.root), { metadata: { limited: 'requests' } })
})

test('a request that is refused before its first turn is one of the minute: plugins have worked for it', async (t) => {
  const made = world(LIMITED)
  for (const _ of [1, 2])
    (await made.accounting.openAccount(made.root)).close({ kind: 'failed', fault: new Fault('forbidden') })
  t.match(await refusalOf(made, made.root), { metadata: { limited: 'requests' } })
  t.strictSame(made.lines, [])
})

test('calls of a tool are limited for each key and each organization, by the clock', async (t) => {
  const made = world()
  const limits = { tool: 'web_search', callsPerMinutePerKey: 2, callsPerMinutePerOrganization: 3 }
  made.accounting.limitTools({ web_search: limits })
  const account = await made.accounting.openAccount(made.root)
  const settleNext = async (at: number) => (await permitted(account, at)).settle(SPENT)
  await settleNext(1)
  await settleNext(2)
  const refused = await reserve(account, 3)
  t.match(refused, { kind: 'rate-limited', note: /^This key is limited to 2 calls of this tool per minute/ })
  t.notOk((await reserve(account, 4, 0, 'datetime')) instanceof Fault, 'another tool has its own')
  made.clock.advance(60_000)
  await settleNext(5)
  const colleague = made.generation('gen-0000000000bbbbbbbbbbbbbbbb')
  Object.assign(colleague, { caller: { ...CALLER, keyHash: 'b'.repeat(64) } })
  const other = await made.accounting.openAccount(colleague)
  await settleNextOf(other, 6)
  await settleNextOf(other, 7)
  t.match(await reserve(other, 8), { note: /^This (key|organization) is limited to/ })
  t.match(await reserve(account, 9), { note: /^This organization is limited to 3/ })
})

async function settleNextOf(account: LoopAccount, at: number): Promise<void> {
  const permit = await permitted(account, at)
  permit.settle(SPENT)
}
