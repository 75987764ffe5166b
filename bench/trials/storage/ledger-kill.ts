import { setTimeout as sleep } from 'node:timers/promises'
import { isWriterAlive, journalName } from '../../../src/ledger/journal/segment-format.js'
import { KeptConnections } from '../../harness/http/kept-connections.js'
import { runPacedCalls } from '../../harness/http/pacer.js'
import type { AdminClient } from '../../performance/federation/trust.js'
import { KilledServer } from '../process/killed-server.js'
import { atLeast, atMost, exactly, figure, over, playRounds, type Trial } from '../trial.js'
import { LedgerReader } from './ledger-books.js'
import {
  CALL_NANOS,
  chatCall,
  createOrganization,
  exactEnvironment,
  readCredits,
  SLOW_MODEL,
} from './ledger-stage.js'

const PER_SECOND = 300
const CREDITS = 1_000_000
const CLOSED_WITHIN_MS = 5_000

/** Keeps calling at a fixed rate, whatever dies, and notes down the calls that were answered. */
class SteadyCaller {
  readonly connections: KeptConnections
  readonly answered: string[] = []
  /** Answers that were neither 200 nor a lost connection. */
  refused = 0
  readonly #request: Buffer
  #running = false
  #pacing: Promise<unknown> = Promise.resolve()

  constructor(port: number, key: string) {
    this.connections = new KeptConnections(port)
    this.#request = chatCall(key, SLOW_MODEL)
  }

  start(): void {
    this.#running = true
    this.#pacing = runPacedCalls({ perSecond: PER_SECOND, running: () => this.#running }, () => this.#call())
  }

  async pause(): Promise<void> {
    this.#running = false
    await this.#pacing
  }

  async #call(): Promise<void> {
    const answer = await this.connections.ask(this.#request)
    if (answer?.status === 200) this.answered.push((JSON.parse(answer.body.toString()) as { id: string }).id)
    else if (answer !== null) this.refused++
  }
}

/**
 * Waits until the journals of the dead are taken, with which their open calls are closed; how long that took.
 * A journal goes away when all of it is in the ledger, on the disk.
 */
async function untilClosed(books: LedgerReader, since: number): Promise<number> {
  while (books.hasLeftovers() && performance.now() - since < 4 * CLOSED_WITHIN_MS) await sleep(10)
  return performance.now() - since
}

async function checkLedger(
  books: LedgerReader,
  admin: AdminClient,
  organizationId: string,
  { answered }: SteadyCaller,
) {
  const { total_credits, total_usage } = await readCredits(admin)
  const rows = books.rows()
  const own = [...rows.values()].filter((row) => row.organizationId === organizationId)
  return {
    missing: answered.filter((id) => !rows.has(id)).length,
    wrongCost: answered.filter((id) => rows.has(id) && rows.get(id)!.cost !== CALL_NANOS).length,
    /** Credits less all rows, less what the service says is left. */
    difference:
      Math.round((total_credits - total_usage) * 1e9) -
      (Math.round(total_credits * 1e9) - over(own).sum('cost')),
    rows: own.length,
    cutOff: own.filter(
      ({ outcome, detail }) => outcome === 'aborted-estimated' && detail.fault === 'internal',
    ).length,
  }
}

export const ledgerKill: Trial = {
  name: 'ledger-kill',
  summary:
    'SIGKILL of a worker or of all under 300 calls/s: every answered call is in the ledger, and the balance agrees',
  rounds: 100,
  roundLimitS: 60,
  run: async (context) => {
    const { staging, rounds } = context
    const dataFolder = staging.freshFolder()
    const server = await KilledServer.start(staging, dataFolder, exactEnvironment(staging))
    const { origin, port } = server.running
    const { admin, id, key } = await createOrganization(origin, CREDITS)
    const books = new LedgerReader(dataFolder)
    const caller = new SteadyCaller(port, key)
    const play = async (round: number) => {
      caller.start()
      await sleep(300 + Math.random() * 500)
      const who = round % 2 === 0 ? 'group' : 'worker'
      const kill = who === 'group' ? await server.killGroup() : server.killWorker()
      // What still runs has left nothing behind.
      while (kill.killed.some((pid) => isWriterAlive(journalName(0, pid, 0)))) await sleep(1)
      const closing = untilClosed(books, kill.since)
      await server.recovered(kill)
      await caller.pause()
      return { who, closedMs: await closing }
    }
    const kills = await playRounds(
      context,
      play,
      ({ who, closedMs }) =>
        `${who} killed, ${caller.answered.length} answered, closed after ${closedMs.toFixed(0)} ms`,
    )
    const found = await checkLedger(books, admin, id, caller)
    caller.connections.drop()
    await server.running.stop()
    await books.close()
    const slowest = 'slowest until all open calls of the dead were closed, after the kill or the new start'
    return {
      bars: [
        exactly('answered calls that are not in the ledger', found.missing, 0),
        exactly('answered calls whose cost is not that of a call', found.wrongCost, 0),
        exactly('credits less the sum of the ledger, less the balance', found.difference, 0, 'nano-dollars'),
        atMost(slowest, Math.max(0, over(kills).max('closedMs')), CLOSED_WITHIN_MS, 'ms'),
        atLeast('calls cut off by the kills (else nothing was tried)', found.cutOff, Math.min(rounds, 5)),
      ],
      figures: [
        figure('kills', rounds),
        figure('calls answered', caller.answered.length),
        figure('calls without an answer', caller.connections.lost),
        figure('calls refused', caller.refused),
        figure('rows in the ledger', found.rows),
      ],
    }
  },
}
