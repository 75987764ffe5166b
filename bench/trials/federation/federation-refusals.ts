import { setTimeout as sleep } from 'node:timers/promises'
import { seededRandom } from '../../../src/base/random.js'
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

interface TimedRefusals {
  readonly one: RefusalCase
  /** Milliseconds. */
  readonly times: number[]
}

/** Everything of an answer that a caller could tell two causes apart by, besides the time it took. */
function comparableAnswer({ status, headers, body }: HttpResponse): string {
  const lines = [...headers].filter(([name]) => !OWN_HEADERS.has(name)).map((pair) => pair.join(': '))
  return `${status}\n${lines.join('\n')}\n\n${body.toString('latin1')}`
}

class RefusalRounds {
  readonly faces = new Map<string, Set<string>>()
  readonly measured: readonly TimedRefusals[]
  readonly #connection: Connection
  readonly #random = seededRandom(1)

  constructor(connection: Connection, cases: readonly RefusalCase[]) {
    this.#connection = connection
    this.measured = cases.map((one) => ({ one, times: [] }))
  }

  /** Every case once, in an order of its own, so that whatever the machine does meets all of them. */
  async turn(keep: boolean): Promise<void> {
    const order = this.measured.map((entry) => ({ entry, at: this.#random() })).sort((a, b) => a.at - b.at)
    for (const { entry } of order) {
      const { one, times } = entry
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
  for (const { one } of refusals.measured) {
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
    for (let turn = 0; turn < WARM_UP; turn++) await refusals.turn(false)
    const play = async (): Promise<void> => {
      for (let turn = 0; turn < TRIES; turn++) await refusals.turn(true)
    }
    await playRounds(context, play, () => `${TRIES} tries of ${cases.length} causes`)
    connection.drop()
    await stage.stop()
    await stop()
    const rows = refusals.measured
      .map(({ one, times }) => ({ cause: one.cause, ms: median(times) }))
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
