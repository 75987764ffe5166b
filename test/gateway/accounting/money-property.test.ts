/**
 * The law of money (contract/decisions 61): whatever becomes of the attempts of a call, what was charged over its rows
 * is what the caller was told and what its limits have lost; lost attempts stand beside, in no sum.
 */
import fc from 'fast-check'
import { test } from 'tap'
import type { RoutedRequest, Usage } from '../../../src/gateway/formats/canonical.js'
import type { Generation } from '../../../src/gateway/run/generation.js'
import { findLostAttempts, findRow } from '../../../src/store/ledger/row-text.js'
import {
  completeChat,
  inferenceOf,
  REQUEST,
  streamChat,
  Waiter,
} from '../../support/clients/gateway-calls.js'
import {
  CALLER,
  catalogOf,
  completion,
  failure,
  PRICES,
  type ScriptedCall,
  ScriptedProvider,
  text,
  usage,
} from '../../support/providers/scripted-provider.js'
import { moneyWorld } from '../../support/servers/money-world.js'

/** What becomes of an attempt. */
const FATES = [
  'not sent',
  'turned away',
  'reset',
  'counted and failed',
  'served',
  'uncounted',
  'broken',
  'left',
] as const
type Fate = (typeof FATES)[number]

/** Those that may cost something and answer nothing. */
const LOST: ReadonlySet<Fate> = new Set(['reset', 'counted and failed'])
const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))

function world() {
  const provider = new ScriptedProvider()
  const slugs = ['a', 'b', 'c', 'd']
  const wishes = slugs.map((slug, at) => ({ slug, prices: { ...PRICES, prompt: PRICES.prompt * (at + 1) } }))
  return { provider, ...moneyWorld(catalogOf({ 'acme/one': wishes }, () => provider)) }
}

/** Lets the attempt under way end so; `leave` is the caller's. */
function meet({ last }: ScriptedProvider, fate: Fate, leave: () => void): void {
  const receiver = (last.stream ?? last.complete)!
  const { stream } = last
  switch (fate) {
    case 'not sent':
      receiver.onFailure(failure('provider-failed', 'not-sent', 0))
      break
    case 'turned away':
      receiver.onFailure(failure('provider-failed', 'refused', 500))
      break
    case 'counted and failed':
      stream?.onEvent({ type: 'usage', usage: usage(7, 9) })
      receiver.onFailure(failure('provider-failed', 'maybe-processed', 0))
      break
    case 'reset':
      receiver.onFailure(failure('provider-failed', 'maybe-processed', 0))
      break
    case 'broken':
      stream?.onEvent(text('half'))
      receiver.onFailure(failure('bad-request', 'refused', 400))
      break
    case 'left':
      stream?.onEvent(text('half'))
      leave()
      break
    default:
      answer(last, fate === 'served' ? usage(3, 4) : null)
  }
}

function answer({ stream, complete }: ScriptedCall, figures: Usage | null): void {
  complete?.onEnd(completion('all of it', figures))
  stream?.onEvent(text('all of it'))
  if (figures !== null) stream?.onEvent({ type: 'usage', usage: figures })
  stream?.onEnd()
}

async function play(streamed: boolean, fates: readonly Fate[]) {
  const { gateway, provider, lines, spent, open, charged } = world()
  const waiter = new Waiter()
  let generation: Generation<RoutedRequest> | null = null
  let leave = (): void => waiter.leave()
  const inference = inferenceOf({ caller: CALLER, request: { ...REQUEST, stream: streamed } })
  if (streamed) {
    const deaf = { onEvent: () => {}, onFlush: () => {}, onEnd: () => {}, onFailure: () => {} }
    const { flow, generation: begun } = streamChat(gateway, deaf, inference)
    generation = begun
    leave = () => flow.cancel()
  } else
    void completeChat(gateway, inference, waiter).then((answer) => {
      generation = answer.generation
    })
  let met = 0
  for (; met < fates.length && provider.calls.length === met + 1; met++) meet(provider, fates[met]!, leave)
  // Whoever is still waiting leaves.
  if (open() > 0) leave()
  for (let turns = 0; turns < 3; turns++) await turn()
  return { generation, lines, spent: spent(), open: open(), ...charged(), played: fates.slice(0, met) }
}

test('what was charged is what was told and what limits have lost, whatever the attempts came to', async (t) => {
  const seen = { rescued: 0, lost: 0 }
  await fc.assert(
    fc.asyncProperty(
      fc.boolean(),
      fc.array(fc.constantFrom(...FATES), { minLength: 1, maxLength: 4 }),
      async (streamed, fates) => {
        const {
          generation,
          lines,
          spent,
          open,
          nanos: charged,
          calls,
          unclosed,
          played,
        } = await play(streamed, fates)
        t.equal(open, 0)
        t.equal(unclosed, 0)
        t.equal(calls, 1, 'one row is charged, however many attempts there were')
        t.equal(charged, spent)
        const id = lines.at(-1)!.split(' ')[1]!
        const block = Buffer.from(lines.join(''))
        t.equal(findRow(block, id)!.cost, charged)
        if (generation !== null) t.equal(generation.consumption?.cost.total ?? 0, charged)
        const lost = findLostAttempts(block, id)
        const due = played.filter((fate) => LOST.has(fate))
        t.equal(lost.length, due.length)
        for (const { upstreamCost } of lost) t.ok(upstreamCost > 0)
        seen.lost += lost.length
        if (lost.length > 0 && charged > 0) seen.rescued++
      },
    ),
    { numRuns: 400 },
  )
  t.ok(seen.rescued > 20 && seen.lost > 100, JSON.stringify(seen))
})
