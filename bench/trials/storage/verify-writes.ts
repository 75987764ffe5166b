import { Connection } from '../../harness/http/connection.js'
import { readItemRequest } from '../requests.js'
import { exactly, figure, type TrialBar, type TrialFigure } from '../trial.js'
import type { WriteLedger, WriteViolation } from './write-ledger.js'
import type { Writer } from './writer.js'

const READERS = 16

/**
 * Reads every id up to the highest one known, and as far beyond as unknown creates may reach, and holds each
 * answer against the ledger. The writer has to be paused. Faults: ConnectionLost, Error on another status.
 */
export async function verifyWrites(port: number, ledger: WriteLedger): Promise<void> {
  const last = ledger.highest + ledger.unknownCreates.size + 10
  let next = 1
  const connections = await Connection.openAll(port, READERS)
  await Promise.all(
    connections.map(async (connection) => {
      while (next <= last) {
        const id = next++
        const answer = await connection.send(readItemRequest(id))
        if (answer.status !== 200 && answer.status !== 404) {
          throw new Error(`reading item ${id} was answered with ${answer.status}`)
        }
        ledger.check(id, answer.status === 200 ? answer.body : null)
      }
    }),
  )
  for (const connection of connections) connection.drop()
  ledger.checkGaps()
}

/** The bars every trial with a writer shares: nothing lost, nothing torn, no id twice. */
export function writeBars(ledger: WriteLedger): TrialBar[] {
  const bar = (name: string, kind: WriteViolation): TrialBar => exactly(name, ledger.counts.get(kind) ?? 0, 0)
  return [
    bar('acknowledged writes lost', 'lost'),
    bar('half records', 'half-record'),
    bar('deleted items that came back', 'undead'),
    bar('ids given twice', 'reused-id'),
    bar('ids that did not grow', 'id-out-of-order'),
    bar('gaps no unknown create explains', 'unexplained-gap'),
    bar('created_at changed', 'created-at-changed'),
  ]
}

/** What the writer did, for the report. */
export function writeFigures(writer: Writer): TrialFigure[] {
  const { ledger, latency } = writer
  const refused = [...writer.refusals.values()].reduce((sum, count) => sum + count, 0)
  return [
    figure('writes acknowledged', ledger.acknowledged),
    figure('writes with unknown outcome', ledger.unknown),
    figure('unknown creates that were carried out', ledger.ghosts),
    figure('ids never seen', ledger.gaps),
    figure('writes refused', refused),
    figure('write p50, from the due time', latency.quantile(0.5), 'ms'),
    figure('write p99, from the due time', latency.quantile(0.99), 'ms'),
    figure('write max, from the due time', latency.max, 'ms'),
  ]
}
