import { setTimeout as sleep } from 'node:timers/promises'
import { shuffled } from '../../harness/figures/sequence.js'
import { median } from '../../harness/figures/statistics.js'
import { Connection } from '../../harness/http/connection.js'
import type { HttpResponse } from '../../harness/http/raw-connection.js'
import { exchangeBytes } from '../../performance/federation/exchange-request.js'
import {
  NOT_ON_THE_WIRE,
  type RefusalCase,
  refusalCases,
} from '../../performance/federation/refusal-cases.js'
import { atLeast, exactly, figure, over, playRounds, type Trial, type TrialBar } from '../trial.js'
import { stageFederation } from './federation-stage.js'

/** Tries of every cause in a round. */
const TRIES = 100
const WARM_UP = 100
const NAMED = 3
/** What differs between two answers by its nature. */
const OWN_HEADERS = new Set(['date', 'x-request-id'])

/** Everything of an answer that a caller could tell two causes apart by, besides the time it took. */
function comparableAnswer({ status, headers, body }: HttpResponse): string {
  const lines = [...headers].filter(([name]) => !OWN_HEADERS.has(name)).map((pair) => pair.join(': '))
  return `${status}\n${lines.join('\n')}\n\n${body.toString('latin1')}`
}

class RefusalRounds {
  /** Causes by what a caller sees of their refusal. */
  readonly faces = new Map<string, Set<string>>()
  /** Each case with the milliseconds that its tries have taken. */
  readonly measured: readonly (readonly [one: RefusalCase, times: number[]])[]
  readonly #connection: Connection

  constructor(connection: Connection, cases: readonly RefusalCase[]) {
    this.#connection = connection
    this.measured = cases.map((one) => [one, []])
  }

  /** Every case once, in an order of its own, so that whatever the machine does meets all of them. */
  async turn(number: number, keep: boolean): Promise<void> {
    for (const [one, times] of shuffled(this.measured, number)) {
      const ms = await this.try(one)
      if (keep) times.push(ms)
    }
  }

  async try(one: RefusalCase): Promise<number> {
    const request = exchangeBytes(one.policyId, one.token())
    const sent = performance.now()
    const answer = await this.#connection.send(request)
    const ms = performance.now() - sent
    const face = comparableAnswer(answer)
    const causes = this.faces.get(face) ?? new Set()
    this.faces.set(face, causes.add(one.cause))
    return ms
  }
}

/** Causes whose audit row names another: a case that is refused for the wrong reason shows nothing. */
async function wrongCauses(refusals: RefusalRounds): Promise<string[]> {
  const found: string[] = []
  for (const [one] of refusals.measured) {
    await refusals.try(one)
    if (one.auditor === null) continue
    const { data } = await one.auditor.requireSuccess('GET', '/federation/audit?trail=refused&limit=1')
    if (data[0]?.reason !== one.cause) found.push(`${one.cause} was refused as ${data[0]?.reason}`)
  }
  return found
}

/** Met when no two medians are further apart than a tenth of the smaller or 0.2 ms, whichever is more. */
function spreadBar(medians: readonly number[]): TrialBar {
  const smallest = Math.min(...medians)
  const allowed = Math.max(0.1 * smallest, 0.2)
  const value = Math.max(...medians) - smallest
  const name = 'between the fastest and the slowest median'
  return { name, value, unit: 'ms', limit: `<= ${allowed.toFixed(3)}`, met: value <= allowed }
}

export const federationRefusals: Trial = {
  name: 'federation-refusals',
  summary: 'every cause of invalid_grant, interleaved (100 tries a round): the same answer in the same time',
  rounds: 20,
  roundLimitS: 60,
  pinned: true,
  run: async (context) => {
    const stage = await stageFederation(context, 1)
    const { good, cases, readyAt, stop } = await refusalCases(stage.admin)
    const connection = await Connection.open(stage.server.port)
    const accepted = await connection.send(exchangeBytes(good.policyId, good.token()))
    await sleep(Math.max(0, readyAt - Date.now()))
    const refusals = new RefusalRounds(connection, cases)
    const wrong = await wrongCauses(refusals)
    for (let turn = 0; turn < WARM_UP; turn++) await refusals.turn(turn, false)
    const play = async (round: number): Promise<void> => {
      for (let turn = 0; turn < TRIES; turn++) await refusals.turn(round * TRIES + turn, true)
    }
    await playRounds(context, play, () => `${TRIES} tries of ${cases.length} causes`)
    connection.drop()
    await stage.stop()
    await stop()
    const rows = refusals.measured
      .map(([{ cause }, times]) => ({ cause, ms: median(times) }))
      .sort((a, b) => a.ms - b.ms)
    const named = (list: typeof rows) =>
      list.map(({ cause, ms }) => `${cause} ${ms.toFixed(3)} ms`).join(', ')
    const faces = [...refusals.faces.values()]
    return {
      bars: [
        exactly('status of the good token all of them are made from', accepted.status, 200),
        atLeast('causes', new Set(cases.map(({ cause }) => cause)).size, 40),
        exactly('causes that were refused for another reason', wrong.length, 0),
        exactly('different answers, without date and request id', faces.length, 1),
        spreadBar(rows.map(({ ms }) => ms)),
      ],
      figures: [
        figure('tries of each cause', TRIES * context.rounds),
        figure('median of the medians', over(rows).median('ms'), 'ms'),
      ],
      notes: [
        ...wrong,
        `fastest: ${named(rows.slice(0, NAMED))}`,
        `slowest: ${named(rows.slice(-NAMED))}`,
        `not met on the wire: ${NOT_ON_THE_WIRE.join(', ')}`,
        ...(faces.length > 1 ? faces.map((causes) => [...causes].join(', ')) : []),
      ],
    }
  },
}
